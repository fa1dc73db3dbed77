"""Numbers that clients send in either of two forms."""

from __future__ import annotations

from entresol.primitives.values import Quantity64


class Number(Quantity64):
    """A number of up to 64 bits, as hex digits or as a JSON number."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: object) -> Number:
        """Read hex digits or a number."""
        if isinstance(text, int) and not isinstance(text, bool):
            return cls(text)
        return cls(Quantity64.parse(text))
