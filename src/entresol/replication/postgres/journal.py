"""The journal of a producer: an entry is in the canonical log before it is applied to the chain."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from entresol.replication.own_store import apply_entry, check_deposits
from entresol.storage.replication.entries import BlockEntry, UnwindEntry

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.execution.block_executor import ExecutedBlock
    from entresol.primitives.headers import Header
    from entresol.replication.postgres.writer import LogWriter, PoolRow
    from entresol.storage.block_rows import Prices
    from entresol.storage.replication.entries import Entry

T = TypeVar("T")


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
        self,
        executed: ExecutedBlock,
        prices: Prices | None,
        added: Sequence[PoolRow] = (),
        removed: Sequence[bytes] = (),
    ) -> Header:
        """Write an executed block with the changes of the pool, and make it the head."""
        return await self._run(lambda: self._seal(executed, prices, added, removed))

    async def update_pool(
        self, added: Sequence[PoolRow] = (), removed: Sequence[bytes] = ()
    ) -> None:
        """Change the pool, and renew the lease; without changes only that."""
        await self._run(lambda: self._update_pool(added, removed))

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
        self,
        executed: ExecutedBlock,
        prices: Prices | None,
        added: Sequence[PoolRow],
        removed: Sequence[bytes],
    ) -> Header:
        check_deposits(self._chain.blocks, executed.record)
        entry = BlockEntry.of(executed.record, prices)
        (position,) = await self._writer.write(
            [entry], executed.header.number, added=added, removed=removed
        )
        with self._chain.ledger.store.position.advancing(position):
            header = self._chain.append(executed, prices)
        self._on_applied(entry)
        return header

    async def _update_pool(self, added: Sequence[PoolRow], removed: Sequence[bytes]) -> None:
        await self._writer.write([], self._chain.number, added=added, removed=removed)
