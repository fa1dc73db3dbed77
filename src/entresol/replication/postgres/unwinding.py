"""Unwind to a block, planned from the log alone: which transactions are pending again, and what forbids it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from entresol.errors import BelowSettledBatch, InvalidConfig, LogTruncated
from entresol.primitives.batches import SettlementStep
from entresol.primitives.transactions.system import UNSIGNED_TYPES
from entresol.replication.postgres.journal import PoolChanges, PoolRow
from entresol.rollup.settlement.pending_tx import PendingSettlement
from entresol.storage.log_entries import (
    BatchEntry,
    BlockEntry,
    OutgoingEntry,
    SettledEntry,
    UnsettledEntry,
    UnwindEntry,
    decode_entry,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import asyncpg

    from entresol.replication.postgres.journal import LogWriter
    from entresol.storage.log_entries import Entry

PAGE_ENTRIES: Final = 100

_PAGE: Final = "select seq, payload from log where seq > $1 {} order by seq limit $2"
_ALL: Final = _PAGE.format("")
_WITHOUT_BLOCKS: Final = _PAGE.format("and kind <> 'block'")


class UnwindPlan(NamedTuple):
    """What an unwind writes: an entry, and rows of the pool before all others."""

    entry: UnwindEntry
    pending: list[PoolRow]


class _Settlement:
    """Batches and their settlement, as entries of the log record them."""

    def __init__(self) -> None:
        self.last_blocks: dict[int, int] = {}
        self.committed: set[int] = set()
        self.outgoing: dict[SettlementStep, range] = {}

    def follow(self, entry: Entry) -> None:
        match entry:
            case BatchEntry():
                batch = entry.decoded()
                self.last_blocks[batch.number] = batch.last_block
            case SettledEntry(step=SettlementStep.COMMIT):
                self.committed.update(range(entry.first, entry.last + 1))
                self.outgoing.pop(entry.step, None)
            case UnsettledEntry(step=SettlementStep.COMMIT):
                self.committed.difference_update(range(entry.first, entry.last + 1))
            case OutgoingEntry():
                self.outgoing.pop(entry.step, None)
                if entry.transaction:
                    pending = PendingSettlement.decode(entry.transaction)
                    self.outgoing[entry.step] = pending.operation.batches
            case UnwindEntry():
                self._unwind(entry.number)

    def check(self, number: int) -> None:
        """Raise `BelowSettledBatch` if a batch of a later block is committed or under way."""
        under_way = {batch for batches in self.outgoing.values() for batch in batches}
        for batch, last_block in self.last_blocks.items():
            if last_block > number and batch in self.committed | under_way:
                raise BelowSettledBatch(number, batch, last_block)

    def _unwind(self, number: int) -> None:
        gone = {batch for batch, last in self.last_blocks.items() if last > number}
        if gone:
            self.outgoing.clear()
        self.committed -= gone
        for batch in gone:
            del self.last_blocks[batch]


async def write_unwind(connection: asyncpg.Connection[Any], writer: LogWriter, number: int) -> int:
    """Unwind to a block, and return how many transactions are pending again."""
    plan = await plan_unwind(connection, number)
    await writer.write([plan.entry], number, PoolChanges(plan.pending))
    return len(plan.pending)


async def plan_unwind(connection: asyncpg.Connection[Any], number: int) -> UnwindPlan:
    """Return what an unwind to a block writes; raise why that is not possible."""
    head = await connection.fetchval("select head from lease")
    if not 0 <= number < head:
        raise InvalidConfig("--to", f"block {number} is not below the last one, which is {head}")
    settlement = _Settlement()
    async for _, entry in _entries(connection, _WITHOUT_BLOCKS, 0):
        settlement.follow(entry)
    settlement.check(number)
    first = await connection.fetchval("select min(arrived) from pool") or 0
    raws = await _transactions_above(connection, number)
    return UnwindPlan(
        UnwindEntry(number),
        [
            PoolRow(key, raw, first - len(raws) + index)
            for index, (key, raw) in enumerate(raws.items())
        ],
    )


async def _transactions_above(
    connection: asyncpg.Connection[Any], number: int
) -> dict[bytes, bytes]:
    """Return the raw transactions of the blocks above `number` by their hashes, without those of L1 and of the node."""
    start = await connection.fetchval("select max(seq) from log where head <= $1", number) or 0
    blocks: list[dict[bytes, bytes]] = []
    last = start
    async for seq, entry in _entries(connection, _ALL, start):
        if seq != last + 1:
            raise LogTruncated(last + 1, seq)
        last = seq
        if isinstance(entry, UnwindEntry):
            del blocks[entry.number - number :]
        elif isinstance(entry, BlockEntry):
            record, _ = entry.block()
            blocks.append(
                {
                    record.transaction_hash(index): raw
                    for index, (raw, _) in enumerate(record.transactions)
                    if raw[0] not in UNSIGNED_TYPES
                }
            )
    return {key: raw for block in blocks for key, raw in block.items()}


async def _entries(
    connection: asyncpg.Connection[Any], query: str, after: int
) -> AsyncIterator[tuple[int, Entry]]:
    while page := await connection.fetch(query, after, PAGE_ENTRIES):
        for seq, payload in page:
            yield seq, decode_entry(payload)
        after = page[-1][0]
