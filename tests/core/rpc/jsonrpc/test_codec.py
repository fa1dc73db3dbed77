"""Values as they travel."""

from __future__ import annotations

from enum import StrEnum

import pytest

from entresol.errors import MalformedValue
from entresol.primitives.values import Address, Quantity
from entresol.rpc.jsonrpc.codec import convert, encode
from entresol.rpc.jsonrpc.model import ByteArray, camel
from tests.support.example_namespace import ALICE, ToyCall


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("chain_id", "chainId"),
        ("from_", "from"),
        ("get_l2_to_l1_msg_proof", "getL2ToL1MsgProof"),
        ("simulate_v1", "simulateV1"),
    ],
)
def test_names_are_spelt_in_camel_case(name: str, spelling: str) -> None:
    assert camel(name) == spelling


def test_values_become_json() -> None:
    value = {Address.zero(): [Quantity(5), 5, ByteArray(b"\x05"), None]}
    assert encode(value) == b'{"0x%b":["0x5",5,[5],null]}' % (b"0" * 40)


def test_what_has_no_json_form_is_rejected() -> None:
    with pytest.raises(TypeError, match="complex has no JSON form"):
        encode(1j)


@pytest.mark.parametrize("value", [[0, 255], "00ff", "0x00FF"])
def test_a_byte_array_is_read_from_numbers_or_digits(value: object) -> None:
    assert ByteArray.parse(value) == b"\x00\xff"


@pytest.mark.parametrize(
    "value", [None, 3, {}, [256], [-1], ["1"], [None], "0x0", "xy", "é", [1.5]]
)
def test_anything_else_is_no_byte_array(value: object) -> None:
    with pytest.raises(MalformedValue):
        ByteArray.parse(value)


def test_a_decoded_value_can_be_converted() -> None:
    assert convert({"from": ALICE, "to": None}, ToyCall) == ToyCall(from_=Address.parse(ALICE))
    with pytest.raises(MalformedValue, match=r"^from: an address is 20 bytes, got 0$"):
        convert({"from": "0x"}, ToyCall)
    with pytest.raises(MalformedValue, match=r"^\[1\]: an address is 20 bytes, got 0$"):
        convert([ALICE, "0x"], list[Address])


def test_an_error_quotes_the_beginning_of_a_long_value_only() -> None:
    class Target(StrEnum):
        ROOT = "root"

    with pytest.raises(MalformedValue) as error:
        convert("x" * 1_000_000, Target)
    assert str(error.value).startswith("invalid enum value 'xxx")
    assert len(str(error.value)) < 600
