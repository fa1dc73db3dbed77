"""Numbers in the forms that clients send."""

from __future__ import annotations

import pytest

from entresol.errors import MalformedValue
from entresol.rpc.types.number import HexOrInteger, Number, Number256, UnprefixedData


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (60, 60),
        ("0x3c", 60),
        ("60", 60),
        ("007", 7),
        ("0x003c", 60),
        (0, 0),
        ("0x", 0),
        (2**64 - 1, 2**64 - 1),
    ],
)
def test_every_form_is_read(given: object, expected: int) -> None:
    assert Number.parse(given) == expected


@pytest.mark.parametrize(
    "given",
    [-1, 2**64, "9" * 20, "9" * 10_000, True, 1.5, "", "soon", "-5", "0x_5", "0x5g", "٣", None, []],
)
def test_what_is_no_number_of_64_bits_is_rejected(given: object) -> None:
    with pytest.raises(MalformedValue):
        Number.parse(given)


@pytest.mark.parametrize(("given", "expected"), [("0x" + "f" * 64, 2**256 - 1), ("9" * 20, 10**20 - 1)])  # fmt: skip
def test_a_balance_may_have_256_bits(given: str, expected: int) -> None:
    assert Number256.parse(given) == expected


@pytest.mark.parametrize("given", [2**64, "9" * 79, "0x" + "f" * 65])
def test_a_json_number_has_64_bits_and_no_number_more_than_256(given: object) -> None:
    with pytest.raises(MalformedValue):
        Number256.parse(given)


@pytest.mark.parametrize(("given", "expected"), [(16, 16), ("16", 22), ("0x16", 22)])
def test_a_field_of_a_call_is_hex_or_a_json_number(given: object, expected: int) -> None:
    assert HexOrInteger.parse(given) == expected


@pytest.mark.parametrize("given", ["0x60ff", "60ff"])
def test_the_prefix_of_data_may_be_missing(given: str) -> None:
    assert UnprefixedData.parse(given) == b"\x60\xff"
