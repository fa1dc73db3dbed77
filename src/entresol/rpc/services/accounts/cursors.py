"""Cursors of pages that go back from the newest: everything before a place in a block."""

from __future__ import annotations

from typing import Final, NamedTuple, Self

from entresol.errors import MalformedValue

_BLOCK: Final = 8
_POSITION: Final = 4
LAST_POSITION: Final = 2 ** (8 * _POSITION) - 1


class Before(NamedTuple):
    """Positions of transactions or logs that are below `position` in `block`, and all of earlier blocks."""

    block: int
    position: int

    @classmethod
    def parse(cls, cursor: bytes | None, head: int) -> Self:
        """Read a cursor; without one, begin with the head, as with one of a block that was reverted."""
        if cursor is None:
            return cls(head, LAST_POSITION)
        if len(cursor) != _BLOCK + _POSITION:
            raise MalformedValue(f"{_BLOCK + _POSITION} bytes of an earlier page", field="cursor")
        block = int.from_bytes(cursor[:_BLOCK])
        if block > head:
            return cls(head, LAST_POSITION)
        return cls(block, int.from_bytes(cursor[_BLOCK:]))

    @classmethod
    def below(cls, block: int) -> Self:
        """Return the place above all of `block`."""
        return cls(block, LAST_POSITION)

    def pack(self) -> bytes:
        """Return the cursor."""
        return self.block.to_bytes(_BLOCK) + self.position.to_bytes(_POSITION)
