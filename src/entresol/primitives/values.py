"""Basic values: addresses, hashes, byte strings and quantities, with their hex encodings."""

from __future__ import annotations

import re
from binascii import unhexlify
from typing import ClassVar, Final, Self

from entresol._native import decode_long_hex, keccak256, rlp_encode
from entresol.errors import MalformedValue

MAX_DIGITS_WITH_GIL: Final = 128 << 10
"""Longer data is decoded without the GIL, so that a thread which does it delays no other."""

_is_hex: Final = re.compile("[0-9a-fA-F]*").fullmatch


class Data(bytes):
    """A byte string of any length; its text is `0x` and two digits a byte."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read `0x` and an even number of hex digits."""
        if isinstance(text, str) and text.startswith("0x"):
            try:
                long = decode_long_hex(text) if len(text) > MAX_DIGITS_WITH_GIL else None
                return cls(unhexlify(text[2:]) if long is None else long)
            except ValueError:
                pass  # Reported below.
        digits = _digits(text, "data")
        if digits is text:
            raise MalformedValue("data starts with 0x")
        if len(digits) % 2:
            raise MalformedValue(f"data is whole bytes, got {len(digits)} hex digits")
        return cls(unhexlify(digits))

    def __str__(self) -> str:
        return "0x" + self.hex()

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self}')"


class FixedBytes(bytes):
    """A byte string of a fixed length, which its subclass defines."""

    __slots__ = ()

    size: ClassVar[int]
    noun: ClassVar[str]

    def __new__(cls, value: bytes) -> Self:
        """Reject a value of another length."""
        if len(value) != cls.size:
            raise MalformedValue(f"{cls.noun} is {cls.size} bytes, got {len(value)}")
        return bytes.__new__(cls, value)

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read hex digits of any case, with or without `0x`."""
        if isinstance(text, str) and len(text) == 2 * cls.size + 2 and text.startswith("0x"):
            try:
                return bytes.__new__(cls, unhexlify(text[2:]))
            except ValueError:
                pass  # Reported below.
        digits = _digits(text, cls.noun)
        if len(digits) % 2:
            raise MalformedValue(f"{cls.noun} is {cls.size} bytes, got {len(digits)} hex digits")
        return cls(unhexlify(digits))

    @classmethod
    def zero(cls) -> Self:
        """Return the value whose bytes are all zero."""
        return cls(bytes(cls.size))

    def __str__(self) -> str:
        return "0x" + self.hex()

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self}')"


class Address(FixedBytes):
    """An account's address."""

    __slots__ = ()

    size = 20
    noun = "an address"

    def checksummed(self) -> str:
        """Return the text with the checksum of EIP-55."""
        digits = self.hex()
        case = keccak256(digits.encode()).hex()
        pairs = zip(digits, case, strict=False)
        return "0x" + "".join(d.upper() if guard >= "8" else d for d, guard in pairs)


def create_address(creator: Address, nonce: int) -> Address:
    """Return the address of the contract that `creator` creates with this nonce (CREATE)."""
    digits = nonce.to_bytes((nonce.bit_length() + 7) // 8)
    return Address(keccak256(rlp_encode([creator, digits]))[12:])


class Hash32(FixedBytes):
    """A hash or any other 32-byte word."""

    __slots__ = ()

    size = 32
    noun = "a hash"


class Bloom(FixedBytes):
    """A bloom filter of the addresses and topics of logs."""

    __slots__ = ()

    size = 256
    noun = "a bloom"


class Nonce8(FixedBytes):
    """The nonce of a block header, unused since proof of work."""

    __slots__ = ()

    size = 8
    noun = "a block nonce"


class Quantity(int):
    """A number from 0 to 2^256 - 1; its text is `0x` and hex digits without leading zeros."""

    __slots__ = ()

    bits: ClassVar[int] = 256

    def __new__(cls, value: int) -> Self:
        """Reject a number that does not fit the width."""
        if value < 0 or value.bit_length() > cls.bits:
            raise MalformedValue(f"a quantity is from 0 to 2^{cls.bits} - 1, got {value:#x}")
        return int.__new__(cls, value)

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read hex digits, with or without `0x`; leading zeros are fine."""
        digits = _digits(text, "a quantity")
        if not 1 <= len(digits) <= cls.bits // 4:
            raise MalformedValue(f"a quantity is 1 to {cls.bits // 4} digits, got {len(digits)}")
        # The number of digits is checked, so the value fits.
        return int.__new__(cls, digits, 16)

    def __str__(self) -> str:
        return hex(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({hex(self)})"


class Quantity64(Quantity):
    """A number from 0 to 2^64 - 1."""

    __slots__ = ()

    bits = 64


def _digits(text: object, noun: str) -> str:
    """Return the hex digits of `text` without the prefix, or `text` itself if it has none."""
    if not isinstance(text, str):
        raise MalformedValue(f"{noun} is a hex string, got {_kind(text)}")
    digits = text.removeprefix("0x")
    if _is_hex(digits) is None:
        raise MalformedValue(f"{noun} is written in hex digits, got {excerpt(text)!r}")
    return digits


def _kind(value: object) -> str:
    """Return the JSON type of `value`."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case list() | tuple():
            return "an array"
        case dict():
            return "an object"
    return type(value).__name__


def excerpt(text: str) -> str:
    """Return `text`, shortened so that an error does not grow with its input."""
    return text if len(text) <= 70 else text[:67] + "..."
