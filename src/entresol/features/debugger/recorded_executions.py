"""Executions of sealed transactions, recorded for a debugger by executing them again on a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from entresol.execution.tracing import trace_transaction
from entresol.features.debugger.sources.recording.recording import RecordingKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.features.debugger.sources.recording.recording import (
        ExecutionRecording,
        Recordings,
    )
    from entresol.features.debugger.sources.registry import SourceRegistry
    from entresol.primitives.values import Hash32
    from entresol.rpc.services.trace_runner import TraceRunner


class Execution(NamedTuple):
    """An execution, and the block that has it."""

    block: Hash32
    transaction: Hash32
    recording: ExecutionRecording


class Executions:
    """Recordings of the transactions of one chain.

    Remembers: the recordings that were used last. Fails: as tracing does. A transaction is recorded anew once it is in
    another block, or once other sources are known.
    """

    def __init__(
        self, traces: TraceRunner, sources: SourceRegistry, recordings: Recordings
    ) -> None:
        self._traces = traces
        self._sources = sources
        self._recordings = recordings

    def of_transaction(self, transaction_hash: Hash32) -> Callable[[], Execution]:
        """Return the work of recording a sealed transaction."""
        block, index = self._traces.transaction(transaction_hash)

        def make() -> ExecutionRecording:
            # Nodes that debug nothing do not need it.
            from entresol.features.debugger.sources.recording.recorder import record  # noqa: PLC0415

            def run(options: bytes) -> bytes:
                trace = trace_transaction(block, index, options, self._traces.budget()).trace
                assert trace is not None
                return trace

            state = block.env_before(index).state
            return record(self._sources, run, state, block.codes_at(index))

        def work() -> Execution:
            block_hash = block.record.hash()
            key = RecordingKey(block_hash, transaction_hash, self._sources.version())
            seconds = self._traces.budget().seconds_left()
            recording = self._recordings.get(key, make, seconds)
            return Execution(block_hash, transaction_hash, recording)

        return work
