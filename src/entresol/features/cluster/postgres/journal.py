"""The log of a cluster: its entries, those that are read, and those that a leader takes back."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from entresol.errors import BelowSettledBatch, InvalidConfig, InvalidTransaction, PoolRejection
from entresol.features.cluster.errors import ClusterFenced, LogTruncated, OutcomeUnknown
from entresol.features.cluster.log_follower import apply_entry, check_deposits
from entresol.features.cluster.postgres.connection import BROKEN, DatabaseDistance
from entresol.features.cluster.postgres.tables import CHANNEL, digest_after
from entresol.primitives.batches import SettlementStep
from entresol.primitives.transactions import Transaction, decode
from entresol.primitives.transactions.system import UNSIGNED_TYPES
from entresol.rollup.settlement.pending_tx import PendingSettlement
from entresol.storage.log_entries import (
    BatchEntry,
    BlockEntry,
    Entry,
    OutgoingEntry,
    SettledEntry,
    UnsettledEntry,
    UnwindEntry,
    decode_entry,
    encode_entry,
    kind_of,
)
from entresol.storage.tables import LogPosition

if TYPE_CHECKING:
    import asyncpg

    from entresol.chain.chain import Chain
    from entresol.execution.block_executor import ExecutedBlock
    from entresol.features.cluster.postgres.lease import HeldLease
    from entresol.primitives.headers import Header
    from entresol.storage.block_rows import Prices

_WRITE: Final = """
with held as (
    update lease set seq = $3, digest = $4, head = $5, valid_until = clock_timestamp() + $6
    where epoch = $1 and seq = $2
    returning epoch, seq
), logged as (
    insert into log (seq, epoch, digest, kind, head, payload)
    select entry.seq, held.epoch, entry.digest, entry.kind, $5, entry.payload
    from held, unnest($7::bigint[], $8::bytea[], $9::text[], $10::bytea[]) as entry (seq, digest, kind, payload)
), removed as (
    delete from pool using held where hash = any($11::bytea[])
), added as (
    insert into pool (hash, raw, arrived)
    select item.hash, item.raw, item.arrived
    from held, unnest($12::bytea[], $13::bytea[], $14::bigint[]) as item (hash, raw, arrived)
    on conflict (hash) do nothing
)
select case when seq > $2 then pg_notify($15, seq::text) end,
    extract(epoch from clock_timestamp())::float8 as clock
from held
"""

T = TypeVar("T")

log = logging.getLogger(__name__)

PAGE_ROWS: Final = 1_000
PAGE_ENTRIES: Final = 100
_PAGE: Final = "select seq, payload from log where seq > $1 {} order by seq limit $2"
_ALL: Final = _PAGE.format("")
_WITHOUT_BLOCKS: Final = _PAGE.format("and kind <> 'block'")


class PoolRow(NamedTuple):
    """A transaction in the pool: `arrived` orders them."""

    hash: bytes
    raw: bytes
    arrived: int


class PoolChanges(NamedTuple):
    """Changes of the rows of the pool."""

    added: Sequence[PoolRow] = ()
    removed: Sequence[bytes] = ()


UNCHANGED: Final = PoolChanges()


class LogWriter:
    """Writes as the producer of one epoch.

    Remembers: the end of the log. Assumes: one write at a time. Fails: with `ClusterFenced` if another node has taken
    over, and nothing was written; with `OutcomeUnknown` if the connection broke, and then it must not be used again.
    """

    def __init__(
        self, connection: asyncpg.Connection[Any], lease: HeldLease, seconds: float
    ) -> None:
        self._connection = connection
        self._valid = timedelta(seconds=seconds)
        self.epoch = lease.epoch
        self.end = lease.end
        self.distance: DatabaseDistance | None = None
        """How far the database was at the last write."""

    async def write(
        self, entries: Sequence[Entry], head: int, pool: PoolChanges = UNCHANGED
    ) -> Sequence[LogPosition]:
        """Write entries and changes of the pool, renew the lease, and return the positions of the entries.

        `head` is the last block after them. Without entries only the pool and the lease change.
        """
        payloads = [encode_entry(entry) for entry in entries]
        positions = self._positions(payloads)
        end = positions[-1] if positions else self.end
        before = time.time()
        try:
            written = await self._connection.fetchrow(
                _WRITE,
                self.epoch,
                self.end.seq,
                end.seq,
                end.digest,
                head,
                self._valid,
                [position.seq for position in positions],
                [position.digest for position in positions],
                [kind_of(entry) for entry in entries],
                payloads,
                pool.removed,
                *([row[column] for row in pool.added] for column in range(3)),
                CHANNEL,
            )
        except BROKEN as error:
            raise OutcomeUnknown(str(error) or type(error).__name__) from error
        if written is None:
            raise ClusterFenced(self.epoch)
        self.end = end
        self.distance = DatabaseDistance.since(before, clock=written["clock"])
        return positions

    def _positions(self, payloads: Sequence[bytes]) -> list[LogPosition]:
        found: list[LogPosition] = []
        last = self.end
        for payload in payloads:
            seq = last.seq + 1
            last = LogPosition(seq, digest_after(last.digest, seq, payload))
            found.append(last)
        return found


class ClusterJournal:
    """Writes entries to the log, then applies them, one at a time and in one order.

    Remembers: the first failure, after which nothing is written any more: another node has taken over, the outcome of
    a write is unknown, or the store cannot apply what the log has. Persists: through the log, then through the store,
    which need not sync: log and position restore it. A caller that is cancelled does not interrupt its write.
    """

    def __init__(
        self, chain: Chain, writer: LogWriter, on_applied: Callable[[Entry], None]
    ) -> None:
        self._chain = chain
        self._writer = writer
        self._on_applied = on_applied
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[object]] = set()
        self.failure: Exception | None = None
        """Why nothing is written any more."""
        self.failed = asyncio.Event()
        self.written_at = time.monotonic()
        """When the last successful write began, on this node's monotonic clock."""

    async def write(self, entry: Entry) -> None:
        """Write an entry, and apply it."""
        await self._run(lambda: self._write(entry))

    async def seal(
        self, executed: ExecutedBlock, prices: Prices | None, pool: PoolChanges = UNCHANGED
    ) -> Header:
        """Write an executed block with the changes of the pool, and make it the head."""
        return await self._run(lambda: self._seal(executed, prices, pool))

    async def update_pool(self, pool: PoolChanges = UNCHANGED) -> None:
        """Change the pool, and renew the lease; without changes only that."""
        await self._run(lambda: self._update_pool(pool))

    async def close(self) -> None:
        """Accept no more writes, and wait for the one in flight."""
        if self.failure is None:
            self._fail(RuntimeError("the journal is closed"))
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _run(self, operation: Callable[[], Awaitable[T]]) -> T:
        task = asyncio.ensure_future(self._in_turn(operation))
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return await asyncio.shield(task)

    def _finished(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Its caller may have been cancelled.
            task.exception()

    async def _in_turn(self, operation: Callable[[], Awaitable[T]]) -> T:
        async with self._lock:
            if self.failure is not None:
                raise self.failure
            began = time.monotonic()
            try:
                result = await operation()
            except Exception as error:
                self._fail(error)
                raise
            self.written_at = began
            return result

    def _fail(self, error: Exception) -> None:
        self.failure = error
        self.failed.set()

    async def _write(self, entry: Entry) -> None:
        head = entry.number if isinstance(entry, UnwindEntry) else self._chain.number
        (position,) = await self._writer.write([entry], head)
        apply_entry(self._chain, entry, position)
        self._on_applied(entry)

    async def _seal(
        self, executed: ExecutedBlock, prices: Prices | None, pool: PoolChanges
    ) -> Header:
        check_deposits(self._chain.blocks, executed.record)
        entry = BlockEntry.of(executed.record, prices)
        (position,) = await self._writer.write([entry], executed.header.number, pool)
        with self._chain.ledger.store.position.advancing(position):
            header = self._chain.append(executed, prices)
        self._on_applied(entry)
        return header

    async def _update_pool(self, pool: PoolChanges) -> None:
        await self._writer.write([], self._chain.number, pool)


class PoolRows:
    """Writes the pool in memory to the rows of the pool.

    Remembers: the hashes of the rows. Persists: rows, all changes since the last time in one statement. A transaction that was replaced, evicted or made invalid leaves the pool, and so its row goes with the
    next statement.
    """

    def __init__(self, chain: Chain, rows: Iterable[PoolRow] = ()) -> None:
        self._pool = chain.pool
        self._hashes: set[bytes] = set()
        self._arrived = 0
        for row in rows:
            self._hashes.add(row.hash)
            self._arrived = max(self._arrived, row.arrived + 1)
            try:
                chain.add(decode(row.raw))
            except (InvalidTransaction, PoolRejection) as error:
                # Without a place in the pool its row is removed next.
                log.info("transaction 0x%s of the pool is dropped: %s", row.hash.hex(), error)

    @property
    def has_changes(self) -> bool:
        """Whether the pool has changed since its rows were written."""
        return self._pool.hashes != self._hashes

    def changes(self, block: Sequence[Transaction] = ()) -> PoolChanges:
        """Return what has changed since the last time, which the caller writes.

        Transactions of a `block`, which is written with the rows, leave the pool.
        """
        pool = self._pool
        included = {transaction.hash for transaction in block}
        added = sorted((pool.hashes - self._hashes).difference(included), key=pool.arrival)
        removed = [known for known in self._hashes if known not in pool or known in included]
        rows = [
            PoolRow(transaction_hash, transaction.raw, self._arrived + index)
            for index, transaction_hash in enumerate(added)
            if (transaction := pool.get(transaction_hash)) is not None
        ]
        self._arrived += len(rows)
        self._hashes.difference_update(removed)
        self._hashes.update(added)
        return PoolChanges(rows, removed)

    async def flush(self, journal: ClusterJournal) -> None:
        """Write the changes since the last time."""
        await journal.update_pool(self.changes())


async def read_pool(connection: asyncpg.Connection[Any]) -> list[PoolRow]:
    """Return the rows of the pool in the order of arrival, read by pages."""
    rows: list[PoolRow] = []
    while True:
        last = (rows[-1].arrived, rows[-1].hash) if rows else (-(2**63), b"")
        page = await connection.fetch(
            "select hash, raw, arrived from pool where (arrived, hash) > ($1, $2) order by arrived, hash limit $3",
            *last,
            PAGE_ROWS,
        )
        rows += [PoolRow(*row) for row in page]
        if len(page) < PAGE_ROWS:
            return rows


class UnwindPlan(NamedTuple):
    """The writes of an unwind: an entry, and rows of the pool before all others."""

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
