"""Plain reads of the state, which the crate responds to from the bytes of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import StateReads

if TYPE_CHECKING:
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.call_runner import CallRunner

MAX_CALL_BYTES: Final = 1 << 20
"""The size of the cache of calls."""


def new_state_reads(resolver: BlockResolver, runner: CallRunner) -> StateReads:
    """Return the reads of a chain, within the limits that calls have on the event loop.

    A call that turns out to need more is dispatched like any other, and `runner` moves it to a worker at once.
    """
    reads = StateReads(
        latest=resolver.latest_env,
        state_after=resolver.state_after,
        limits=runner.loop_limits,
        gas_cap=runner.gas_cap,
        cache_bytes=MAX_CALL_BYTES,
    )
    runner.is_budget_spent = reads.take_budget_spent
    return reads
