"""Numbers in the forms that clients send."""

from __future__ import annotations

import pytest

from entresol.errors import MalformedValue
from entresol.rpc.types.number import Number


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (60, 60),
        ("0x3c", 60),
        ("60", 60),
        ("007", 7),
        ("0x003c", 60),
        (0, 0),
        (2**64 - 1, 2**64 - 1),
    ],
)
def test_every_form_is_read(given: object, expected: int) -> None:
    assert Number.parse(given) == expected


@pytest.mark.parametrize(
    "given", [-1, 2**64, "9" * 20, "9" * 10_000, True, 1.5, "", "0x", "soon", "-5", "٣", None, []]
)
def test_what_is_no_number_of_64_bits_is_rejected(given: object) -> None:
    with pytest.raises(MalformedValue):
        Number.parse(given)
