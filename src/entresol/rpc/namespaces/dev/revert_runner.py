"""Revert chains without blocking the event loop: what takes long is prepared on a worker."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from entresol.chain.dev.linked_chains import close_all
from entresol.rpc.jsonrpc.offload import Deferred

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from entresol.chain.dev.linked_chains import LinkedChains
    from entresol.chain.dev.revert_plan import PairRevertPlan

_T = TypeVar("_T")
Planner: TypeAlias = "Callable[[], PairRevertPlan | None]"
"""Plans a revert of the chains as they are now; None if there is nothing to revert to."""

ATTEMPTS: Final = 3
"""How often a revert is prepared on a worker, if a chain changes meanwhile, before it is done on the event loop."""


class RevertRunner:
    """Runs reverts: short ones at once, others after a worker has prepared them."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def run(self, plan: Planner, result: _T, otherwise: _T) -> _T | Deferred[_T]:
        """Revert the chains, and return `result`, or `otherwise` if there is nothing to revert to."""
        planned = plan()
        if planned is None:
            return otherwise
        if planned.is_quick:
            planned.apply()
            return result
        return Deferred(self._run_long(plan, planned, result, otherwise))

    async def finish(self, plan: Planner) -> None:
        """Revert the chains within a coroutine."""
        done = self.run(plan, None, None)
        if done is not None:
            await done.result

    async def reset(self, linked: LinkedChains) -> None:
        """Replace all chains by their genesis, which a worker builds."""
        loop = asyncio.get_running_loop()
        stores = await loop.run_in_executor(self._executor, linked.build_reset)
        try:
            linked.apply_reset(stores)
        finally:
            await loop.run_in_executor(self._executor, close_all, stores)

    async def _run_long(
        self, plan: Planner, planned: PairRevertPlan | None, result: _T, otherwise: _T
    ) -> _T:
        loop = asyncio.get_running_loop()
        for _ in range(ATTEMPTS):
            if planned is None:
                return otherwise
            await loop.run_in_executor(self._executor, planned.prepare)
            if planned.is_current:
                break
            planned = plan()
        if planned is None:
            return otherwise
        planned.apply()
        return result
