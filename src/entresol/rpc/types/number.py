"""Numbers that clients send in different formats."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Self

from entresol.errors import MalformedValue
from entresol.primitives.values import Data, Quantity, Quantity64

_MAX_DIGITS: Final = 80
"""Longer decimal numbers do not fit, and would take ever longer to read."""
_SHORT: Final = 18
"""The length of `0x` and up to 16 digits."""
_MAX_JSON_BITS: Final = 64
"""The width of a JSON number, as in anvil: clients round larger ones before they send them."""


class Number256(Quantity):
    """A number of up to 256 bits: a JSON integer, or a string of `0x` and hex digits or of decimal digits."""

    __slots__ = ()

    json_schema: ClassVar[dict[str, Any]] = {"type": ["integer", "string"]}

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read any of the formats; digits without `0x` are decimal, as the tools that send them mean."""
        if isinstance(text, str):
            # At most 64 bits, which fit every width.
            if len(text) <= _SHORT and text.startswith("0x") and text.isalnum() and text.isascii():
                try:
                    return int.__new__(cls, text, 16)
                except ValueError:
                    pass  # Reported below, and the prefix alone is not a number.
            if text.isascii() and text.isdigit():
                return cls(int(text[:_MAX_DIGITS]))
            # As in anvil, the prefix alone is zero.
            return cls(0 if text == "0x" else Quantity.parse(text))
        return cls(_integer(text))


class Number(Number256):
    """A number of up to 64 bits, in the same formats."""

    __slots__ = ()

    bits = 64


class HexOrInteger(Quantity):
    """A quantity that may also be a JSON integer; a string is hex digits, with or without `0x`."""

    __slots__ = ()

    json_schema: ClassVar[dict[str, Any]] = {"type": ["integer", "string"]}

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read either."""
        return super().parse(text) if isinstance(text, str) else cls(_integer(text))


class HexOrInteger64(HexOrInteger, Quantity64):
    """A quantity of up to 64 bits that may also be a JSON integer."""

    __slots__ = ()


class UnprefixedData(Data):
    """A byte string whose `0x` may be missing."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read an even number of hex digits."""
        is_bare = isinstance(text, str) and not text.startswith("0x")
        return super().parse(f"0x{text}" if is_bare else text)


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise MalformedValue("a number is an integer or a string of digits")
    if value.bit_length() > _MAX_JSON_BITS:
        raise MalformedValue(f"a larger number than 2^{_MAX_JSON_BITS} - 1 is a string")
    return value
