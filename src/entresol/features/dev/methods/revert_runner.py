"""Revert chains without blocking the event loop: what takes long is prepared on a thread."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from entresol.errors import ChainReplaced
from entresol.features.dev.node_chains import close_all
from entresol.state_missing import retried

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from entresol.chain.chain_use import ChainUse
    from entresol.features.dev.checkpoint import NodeRevertPlan
    from entresol.features.dev.node_chains import NodeChains
    from entresol.rpc.threads.client_threads import Threads

_T = TypeVar("_T")
Planner: TypeAlias = "Callable[[], NodeRevertPlan | None]"
"""Plans a revert of the chains as they are now; None if there is nothing to revert to."""

ATTEMPTS: Final = 3
"""How often a revert is prepared on a thread, if a chain changes meanwhile, before it is done on the event loop."""

WAIT_SECONDS: Final = 2.0
"""How long what runs on the chains may go on before they are replaced all the same, and it fails."""


class RevertRunner:
    """Runs reverts: short ones at once, others after a thread has prepared them.

    Whatever uses the chains on threads, or settles them, comes to its end first, or has `ChainReplaced`.
    """

    def __init__(self, threads: Threads, uses: Sequence[ChainUse]) -> None:
        self._threads = threads
        self._uses = uses

    def run(self, plan: Planner, result: _T, otherwise: _T) -> _T | Awaitable[_T]:
        """Revert the chains, and return `result`, or `otherwise` if there is nothing to revert to."""
        planned = plan()
        if planned is None:
            return otherwise
        if not planned.is_quick:
            return self._run_long(plan, planned, result, otherwise)
        if not self._are_idle:
            return self._run_later(plan, result, otherwise)
        planned.apply()
        return result

    async def finish(self, plan: Planner) -> None:
        """Revert the chains within a coroutine."""
        done = self.run(plan, None, None)
        if done is not None:
            await done

    async def reset(self, node_chains: NodeChains) -> None:
        """Replace all chains by their genesis, which a thread builds."""
        loop = asyncio.get_running_loop()
        stores = await self.prepared(node_chains.build_reset)
        try:
            await self.idle()
            node_chains.apply_reset(stores)
        finally:
            await loop.run_in_executor(None, close_all, stores)

    async def prepared(self, prepare: Callable[[], _T]) -> _T:
        """Return what a thread prepares to replace the chains; if they are replaced meanwhile, it does so again."""
        for _ in range(ATTEMPTS):
            with contextlib.suppress(ChainReplaced):
                return await self._threads.run(prepare)
        return await self._threads.run(prepare)

    async def idle(self) -> None:
        """Return once nothing runs on the chains, or after `WAIT_SECONDS`: then what runs will fail."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WAIT_SECONDS):
                # Others may begin before this task has its turn.
                while not self._are_idle:
                    for use in self._uses:
                        ended = asyncio.Event()
                        use.when_idle(partial(loop.call_soon_threadsafe, ended.set))
                        await ended.wait()

    @property
    def _are_idle(self) -> bool:
        for use in self._uses:  # noqa: SIM110  # a generator takes twice as long
            if not use.is_idle:
                return False
        return True

    async def _run_later(self, plan: Planner, result: _T, otherwise: _T) -> _T:
        await self.idle()
        return result if await retried(partial(_apply, plan)) else otherwise

    async def _run_long(
        self, plan: Planner, planned: NodeRevertPlan | None, result: _T, otherwise: _T
    ) -> _T:
        for _ in range(ATTEMPTS):
            if planned is None:
                return otherwise
            with contextlib.suppress(ChainReplaced):
                await self._threads.run(planned.prepare)
                await self.idle()
                if planned.is_current:
                    planned.apply()
                    return result
            planned = plan()
        return result if await retried(partial(_apply, plan)) else otherwise


def _apply(plan: Planner) -> bool:
    planned = plan()
    if planned is None:
        return False
    planned.apply()
    return True
