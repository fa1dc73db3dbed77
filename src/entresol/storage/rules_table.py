"""The block rules of a chain that publishes its data, as they were at each block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors import StoreDamaged, UnreadableData
from entresol.primitives.published.rules import BlockRules
from entresol.storage import tables

if TYPE_CHECKING:
    from pathlib import Path

    from entresol.storage.database.key_value import KeyValueStore, Row


class RulesTable:
    """The rules of blocks; a chain that publishes nothing has none.

    Remembers: the rules by which blocks are made, set by who opens the chain, and the last block with them. Persists: a row for each block whose
    rules are not those of the block before it, in the write that appends the block.
    """

    def __init__(self, db: KeyValueStore, path: Path) -> None:
        self._db = db
        self._path = path
        self.current: BlockRules | None = None
        """Those of the next block; None if the chain publishes nothing."""
        self._last: tuple[int, BlockRules | None] = (-1, None)

    def refresh(self) -> None:
        """Forget the last block, because all rows were replaced."""
        self._last = (-1, None)

    def at(self, block: int) -> BlockRules | None:
        """Return the rules of a block; None if the chain publishes nothing."""
        found = self._db.last_at_most(tables.RULES + tables.number(block), tables.RULES)
        if found is None:
            return None
        try:
            return BlockRules.decode(found[1])
        except UnreadableData as error:
            raise StoreDamaged(self._path, f"its block rules: {error}") from error

    def changes_at(self, block: int) -> bool:
        """Return whether a block has other rules than the one before it."""
        return self._db.get(tables.RULES + tables.number(block)) is not None

    def rows_of(self, block: int) -> list[Row]:
        """Return the rows of a new block with the current rules; none if the block before has the same."""
        rules = self.current
        if rules is None:
            return []
        last, self._last = self._last, (block, rules)
        # A reverted block may have left a row for this one.
        if last == (block - 1, rules) or (block and self.at(block - 1) == rules):
            return []
        return [(tables.RULES + tables.number(block), rules.encode())]
