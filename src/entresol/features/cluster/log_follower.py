"""Apply the log of a cluster to the chain of a node that follows it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from entresol.features.cluster.errors import DepositsNotNext
from entresol.primitives.transactions.priority import PRIORITY_TYPES
from entresol.storage.log_entries import (
    BlockEntry,
    ConfirmedEntry,
    Entry,
    UnwindEntry,
    apply_to_batches,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.chain.chain import Chain
    from entresol.primitives.records import BlockRecord
    from entresol.storage.store_view import StoreView
    from entresol.storage.tables import LogPosition

SLICE_SECONDS: Final = 0.005
"""How long entries are applied before others have their turn on the event loop."""


def apply_entry(chain: Chain, entry: Entry, position: LogPosition) -> None:
    """Apply an entry and its position to a chain, in one write of its store; a block is imported, not executed."""
    store = chain.ledger.store
    with store.position.advancing(position):
        match entry:
            case BlockEntry():
                record, prices = entry.block()
                check_deposits(chain.blocks, record)
                chain.import_block(record, prices=prices)
            case UnwindEntry():
                chain.history.rewind(entry.number)
                chain.drop_pending()
            case ConfirmedEntry():
                store.position.set_confirmed(entry.safe, entry.finalized)
                chain.set_finality(safe=entry.safe, finalized=entry.finalized)
            case _:
                apply_to_batches(chain.batches, entry)


def restore_finality(chain: Chain) -> None:
    """Set what L1 had confirmed at the position of the chain's store."""
    confirmed = chain.ledger.store.position.confirmed()
    if confirmed is not None:
        chain.set_finality(safe=confirmed[0], finalized=confirmed[1])


def check_deposits(blocks: StoreView, record: BlockRecord) -> None:
    """Raise `DepositsNotNext` unless the deposits of a block continue those of the chain."""
    ids = [
        record.transaction(index).payload.nonce
        for index, (raw, _) in enumerate(record.transactions)
        if raw[0] in PRIORITY_TYPES
    ]
    if not ids:
        return
    following = blocks.next_priority_id()
    if ids != list(range(following, following + len(ids))):
        raise DepositsNotNext(record.header().number, ids[0], following)


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
