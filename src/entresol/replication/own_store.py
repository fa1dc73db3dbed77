"""Apply entries of the canonical log to a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors import DepositsNotNext
from entresol.primitives.transactions.priority import PRIORITY_TYPES
from entresol.storage.replication.entries import (
    BlockEntry,
    ConfirmedEntry,
    UnwindEntry,
    apply_to_batches,
)

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.primitives.records import BlockRecord
    from entresol.storage.replication.entries import Entry
    from entresol.storage.replication.position import LogPosition
    from entresol.storage.store_view import BlockReader


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


def check_deposits(blocks: BlockReader, record: BlockRecord) -> None:
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
