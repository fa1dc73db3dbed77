"""Follow a log of entries: apply them to a chain, one by one."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from entresol.replication.own_store import apply_entry, restore_finality

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.chain.chain import Chain
    from entresol.storage.replication.entries import Entry
    from entresol.storage.replication.position import LogPosition

SLICE_SECONDS: Final = 0.005
"""How long entries are applied before others have their turn on the event loop."""


class LoggedEntry(NamedTuple):
    """An entry with its position."""

    position: LogPosition
    entry: Entry


class EntrySource(Protocol):
    """A log that is read by pages."""

    async def read_page(self, after: LogPosition) -> Sequence[LoggedEntry]:
        """Return the next entries after a position; raise if one of them is missing or damaged."""


class Follower:
    """Applies the log to a chain, also what its own producer wrote to the log and could not apply.

    Remembers: nothing; the store has the position. Persists: an entry and its position in one write. Assumes: nothing
    else changes the chain meanwhile. Fails: with the errors of the log and of the store; what was applied stays.
    """

    def __init__(self, chain: Chain, on_applied: Callable[[Entry], None]) -> None:
        self._chain = chain
        self._on_applied = on_applied
        restore_finality(chain)

    @property
    def applied(self) -> LogPosition:
        """The last entry that was applied."""
        return self._chain.ledger.store.position.get()

    async def catch_up(self, source: EntrySource) -> int:
        """Apply everything that the log has, while nobody writes to it; return how many entries that were."""
        count = 0
        while applied := await self.apply_page(source):
            count += applied
        return count

    async def apply_page(self, source: EntrySource) -> int:
        """Apply the next entries of the log; return how many those were."""
        page = await source.read_page(self.applied)
        began = time.monotonic()
        for position, entry in page:
            apply_entry(self._chain, entry, position)
            self._on_applied(entry)
            if time.monotonic() - began > SLICE_SECONDS:
                await asyncio.sleep(0)
                began = time.monotonic()
        return len(page)
