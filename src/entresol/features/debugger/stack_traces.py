"""Find where in the source transactions and calls failed, by executing them again on a thread."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from entresol.errors import NotInspectable
from entresol.execution.evm_env import code_of
from entresol.execution.tracing import trace_call, trace_transaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.execution.tracing import SealedBlock, TraceBudget
    from entresol.features.debugger.sources.registry import SourceRegistry
    from entresol.features.debugger.sources.stack_trace import StackTrace
    from entresol.primitives.values import Address, Hash32
    from entresol.rpc.services.call_runner import CallRunner
    from entresol.rpc.services.trace_runner import TraceRunner
    from entresol.rpc.types.block_id import BlockId
    from entresol.rpc.types.call_request import CallObject


class StackTraces:
    """Stack traces of one chain.

    Fails: with `NotInspectable`, or as tracing does.
    """

    def __init__(self, traces: TraceRunner, runner: CallRunner, sources: SourceRegistry) -> None:
        self._traces = traces
        self._runner = runner
        self._sources = sources

    def of_transaction(self, transaction_hash: Hash32) -> Callable[[], StackTrace | None]:
        """Return the work of finding where a sealed transaction failed."""
        self._check_sources()
        block, index = self._traces.transaction(transaction_hash)
        return lambda: failure_of_transaction(self._sources, block, index, self._traces.budget)

    def of_call(self, call: CallObject, block: BlockId) -> Callable[[], StackTrace | None]:
        """Return the work of finding where a call fails."""
        self._check_sources()
        self._runner.check_lists(call)
        env_of = self._traces.env(block)

        def work() -> StackTrace | None:
            env, request, cap = env_of(), call.request(), self._runner.gas_cap

            def run(options: bytes) -> bytes:
                return _trace_of(
                    trace_call(env, request, options, self._traces.budget(), cap).trace
                )

            return trace_failure(self._sources, run, partial(code_of, env.state))

        return work

    def _check_sources(self) -> None:
        if self._sources.is_empty:
            raise NotInspectable(
                "the node knows no sources: start it with --sources, or send hardhat_addCompilationResult"
            )


def failure_of_transaction(
    sources: SourceRegistry, block: SealedBlock, index: int, budget: Callable[[], TraceBudget]
) -> StackTrace | None:
    """Return where the transaction at `index` of a block failed, each execution within a budget of its own."""

    def run(options: bytes) -> bytes:
        return _trace_of(trace_transaction(block, index, options, budget()).trace)

    return trace_failure(sources, run, block.codes_at(index))


def trace_failure(
    sources: SourceRegistry, run: Callable[[bytes], bytes], code_of: Callable[[Address], bytes]
) -> StackTrace | None:
    """Return where an execution fails that starts with some codes; `run` returns its trace by a tracer's options."""
    # Nodes without sources do not need it.
    from entresol.features.debugger.sources.stack_trace import FailureTracer  # noqa: PLC0415

    return FailureTracer(sources).trace(run, code_of)


def _trace_of(trace: bytes | None) -> bytes:
    assert trace is not None
    return trace
