"""Numbers that clients send in different formats."""

from __future__ import annotations

from entresol.primitives.values import Quantity64


class Number(Quantity64):
    """A number of up to 64 bits: a JSON number, or a string of `0x` and hex digits or of decimal digits."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: object) -> Number:
        """Read any of the formats; digits without `0x` are decimal, as the tools that send them mean."""
        if isinstance(text, str) and text.isascii() and text.isdigit():
            # Longer ones do not fit, and would take ever longer to read.
            return cls(int(text[:40]))
        if isinstance(text, int) and not isinstance(text, bool):
            return cls(text)
        return cls(Quantity64.parse(text))
