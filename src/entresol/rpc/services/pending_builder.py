"""The pending block for RPC methods: a heavy one is built on a thread before they run."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from entresol.chain.sealing.block_filler import INLINE_GAS
from entresol.errors import ChainReplaced, GasBudgetSpent, StateMissing
from entresol.execution.limits import WorkBudget
from entresol.offload import BuildFirst
from entresol.state_missing import fork_threads, retried, waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor

    from entresol.chain.chain import Chain
    from entresol.chain.sealing.pending_block import OpenBlock
    from entresol.execution.block_executor import BlockExecutor, ExecutedBlock

ATTEMPTS: Final = 3
"""How often a block is built on a thread, if the chain changes meanwhile, before it is built on the event loop."""


class PendingBuilder:
    """Builds the pending block; one that takes more than a few milliseconds on a thread.

    `executor` and `block` raise `BuildFirst` for such a block. What runs after it sees a block with what was in the
    pool when the request came, even if the pool has changed since.

    Remembers: the block that was built last, for all requests that need it, and which version of the pool takes longer
    than its gas. Assumes: the event loop. Fails: as the chain does.
    """

    def __init__(self, chain: Chain, threads: Executor) -> None:
        self._chain = chain
        self._threads = threads
        self._building = asyncio.Lock()
        self._opened = 0
        self._version = -1
        self._long_version = -1
        self._built: tuple[int, OpenBlock] | None = None
        self._pinned: OpenBlock | None = None

    def executor(self) -> BlockExecutor:
        """Return the pending block with its transactions executed."""
        if self._pinned is not None:
            return self._pinned.executor
        if self._chain.filler.has_work:
            if (cached := self._chain.builder.cached_pending()) is not None:
                return self._complete(cached)
            self._check()
        try:
            return self._complete(self._chain.builder.pending(budget=WorkBudget(INLINE_GAS)))
        except GasBudgetSpent:
            raise self._found_long() from None

    def block(self) -> ExecutedBlock:
        """Return the pending block with its header and roots."""
        if self._pinned is not None and self._pinned.executed is not None:
            return self._pinned.executed
        self._check()
        try:
            if self._chain.ledger.remote is not None:
                self._complete(self._chain.builder.pending(budget=WorkBudget(INLINE_GAS)))
            return self._chain.builder.pending_block(budget=WorkBudget(INLINE_GAS))
        except GasBudgetSpent:
            raise self._found_long() from None

    def _complete(self, block: BlockExecutor) -> BlockExecutor:
        """Let a thread build a block of a fork that leaves out what lacks a value which is not asked for yet."""
        for cold in block.cold:
            if isinstance(cold.error, StateMissing):
                raise BuildFirst(self._build)
        return block

    def _check(self) -> None:
        chain = self._chain
        is_long = (
            chain.pool.version == self._long_version and chain.builder.cached_pending() is None
        )
        if is_long or not chain.builder.is_pending_quick:
            raise BuildFirst(self._build)

    def _found_long(self) -> BuildFirst:
        """Let a thread build a block that takes longer than its gas; that is found out once for what is in the pool."""
        self._long_version = self._chain.pool.version
        return BuildFirst(self._build)

    async def _build(self) -> contextlib.AbstractContextManager[None]:
        """Build a block of what is in the pool now, and return the context in which it is the pending one."""
        needed = self._opened + (self._chain.pool.version != self._version)
        async with self._building:
            if self._built is None or self._built[0] < needed or not self._is_next(self._built[1]):
                self._built = None
                await self._try_to_build()
            return self._pin(None if self._built is None else self._built[1])

    async def _try_to_build(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(ATTEMPTS):
            self._opened += 1
            self._version = version = self._chain.pool.version
            block = await retried(self._chain.builder.open_block)
            while block.prepare():
                with contextlib.suppress(ChainReplaced):
                    await loop.run_in_executor(*self._runs(block))
                if not self._is_next(block):
                    break
            else:
                self._chain.builder.adopt_pending(block, version)
                self._built = self._opened, block
                return

    def _runs(self, block: OpenBlock) -> tuple[Executor, Callable[[], None]]:
        """Return the threads that execute a part of a block, and what they do: those of a fork wait for its remote."""
        if self._chain.ledger.remote is None:
            return self._threads, block.execute
        return fork_threads(), self._chain.use.guarded(waiting(block.execute))

    def _is_next(self, block: OpenBlock) -> bool:
        return self._chain.builder.is_next(block)

    @contextlib.contextmanager
    def _pin(self, block: OpenBlock | None) -> Iterator[None]:
        self._pinned = block or self._built_here()
        try:
            yield
        finally:
            self._pinned = None

    def _built_here(self) -> OpenBlock:
        block = self._chain.builder.open_block()
        while block.prepare():
            block.execute()
        return block
