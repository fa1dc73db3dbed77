"""Values as JSON text: what clients may write, and what they get."""

from __future__ import annotations

from typing import Any

import pytest
from eth_utils.address import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from entresol.errors import MalformedValue
from entresol.primitives.values import (
    MAX_DIGITS_WITH_GIL,
    Address,
    Data,
    Hash32,
    Quantity,
    Quantity64,
    create_address,
)

ALICE = "0x36615Cf349d7F6344891B1e7CA7C72883F5dc049"


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Quantity, "0x0", 0),
        (Quantity, "10", 16),
        (Quantity, "0x00ff", 255),
        (Quantity, "0xFf", 255),
        (Quantity, "0x" + "f" * 64, 2**256 - 1),
        (Quantity64, "0x" + "f" * 16, 2**64 - 1),
        (Data, "0x00Ff", b"\x00\xff"),
        (Address, ALICE, bytes.fromhex(ALICE[2:])),
        (Address, ALICE[2:].upper(), bytes.fromhex(ALICE[2:])),
        (Hash32, "0x" + "ab" * 32, b"\xab" * 32),
    ],
)
def test_text_is_read(kind: Any, text: str, value: object) -> None:
    parsed = kind.parse(text)
    assert parsed == value
    assert isinstance(parsed, kind)


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        (Address, "0x" + "11" * 19, "an address is 20 bytes, got 19"),
        (Address, "0x" + "1" * 39, "an address is 20 bytes, got 39 hex digits"),
        (Address, "", "an address is 20 bytes, got 0"),
        (Address, "0xzz", "an address is written in hex digits, got '0xzz'"),
        (Address, "\N{ARABIC-INDIC DIGIT ONE}" * 40, "an address is written in hex digits"),
        (Address, None, "an address is a hex string, got null"),
        (Hash32, 5, "a hash is a hex string, got a number"),
        (Quantity, "0x", "a quantity is 1 to 64 digits, got 0"),
        (Quantity, "", "a quantity is 1 to 64 digits, got 0"),
        (Quantity64, "0x1" + "0" * 16, "a quantity is 1 to 16 digits, got 17"),
        (Quantity, 16, "a quantity is a hex string, got a number"),
        (Quantity, "1_0", "a quantity is written in hex digits, got '1_0'"),
        (Quantity, " 1", "a quantity is written in hex digits, got ' 1'"),
        (Data, "", "data starts with 0x"),
        (Data, "00", "data starts with 0x"),
        (Data, "0x0", "data is whole bytes, got 1 hex digits"),
    ],
)
def test_other_text_is_rejected(kind: Any, text: object, problem: str) -> None:
    with pytest.raises(MalformedValue) as caught:
        kind.parse(text)
    assert str(caught.value).startswith(problem)


def test_an_error_does_not_grow_with_its_input() -> None:
    with pytest.raises(MalformedValue) as caught:
        Data.parse("0x" + "z" * 100_000)
    assert len(str(caught.value)) < 150


@given(st.integers(0, 2**256 - 1))
def test_quantities_are_printed_without_leading_zeros(number: int) -> None:
    assert str(Quantity(number)) == hex(number)
    assert Quantity.parse(str(Quantity(number))) == number


@given(st.binary(max_size=100))
def test_data_survives_its_text(content: bytes) -> None:
    assert str(Data(content)) == "0x" + content.hex()
    assert Data.parse(str(Data(content))) == content


@given(st.binary(min_size=20, max_size=20))
def test_addresses_survive_both_of_their_texts(content: bytes) -> None:
    address = Address(content)
    assert Address.parse(str(address)) == Address.parse(address.checksummed()) == address
    assert address.checksummed() == to_checksum_address(content)


@pytest.mark.parametrize("number", [-1, 2**256])
def test_numbers_outside_a_word_are_no_quantities(number: int) -> None:
    with pytest.raises(MalformedValue, match=r"a quantity is from 0 to 2\^256 - 1"):
        Quantity(number)


def test_bytes_of_another_length_are_no_address() -> None:
    with pytest.raises(MalformedValue, match="an address is 20 bytes, got 3"):
        Address(b"abc")


def test_values_print_as_clients_see_them() -> None:
    assert str(Address.parse(ALICE)) == ALICE.lower()
    assert repr(Address.parse(ALICE)) == f"Address('{ALICE.lower()}')"
    assert repr(Data(b"a")) == "Data('0x61')"
    assert repr(Quantity(255)) == "Quantity(0xff)"
    assert f"{Quantity(255)} {Hash32.zero()}" == "0xff 0x" + "00" * 32


def test_long_data_is_read_like_short_data() -> None:
    digits = "0aFF" * MAX_DIGITS_WITH_GIL
    assert Data.parse("0x" + digits) == bytes.fromhex(digits)
    for wrong in (
        "0x" + digits + "f",
        "0x" + digits + "zz",
        digits,
        "0x0x" + digits,
        "0x\ud800" + digits,
    ):
        with pytest.raises(MalformedValue):
            Data.parse(wrong)


@pytest.mark.parametrize(
    ("nonce", "created"),
    [
        (0, "0xcd234a471b72ba2f1ccf0a70fcaba648a5eecd8d"),
        (1, "0x343c43a37d37dff08ae8c4a11544c718abb4fcf8"),
    ],
)
def test_the_address_of_a_created_contract_follows_the_nonce(nonce: int, created: str) -> None:
    creator = Address.parse("0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0")
    assert str(create_address(creator, nonce)) == created
