"""Executions step by step, beside their sources: what a debugger shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import (
    DeadlinePassed,
    MalformedValue,
    StepNotRecorded,
    TraceTooLarge,
    TransactionNotFound,
)
from entresol.offload import Offload
from entresol.primitives.values import Address, Hash32, Quantity
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.jsonrpc.past import Past
from entresol.rpc.models.execution_steps import (
    ExecutedFrame,
    ExecutedLine,
    ExecutedSource,
    ExecutedStep,
    ExecutionOverview,
    RecordedRange,
    StepPage,
    WrittenSlot,
)
from entresol.rpc.models.stack_traces import failure_trace
from entresol.rpc.types.history import TransactionHash
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.rpc.services.sources.executions import Execution, Executions
    from entresol.sources.recording.recorded_frames import RecordedFrame
    from entresol.sources.recording.recording import ExecutionRecording, RecordedStep, StepRange
    from entresol.sources.recording.storage_log import SlotAccess

MAX_PAGE: Final = 2_500
"""Steps of a page."""


class EntresolExecutions:
    """`entresol_` methods that show a sealed transaction's execution step by step."""

    prefix = "entresol"

    def __init__(self, executions: Executions) -> None:
        self._executions = executions

    @method(
        TransactionNotFound,
        TraceTooLarge,
        DeadlinePassed,
        served_by=ServedBy.PRODUCER,
        past=Past.REPLAY,
    )
    def get_execution(self, hash: TransactionHash) -> Offload[ExecutionOverview]:
        """Return an overview of a sealed transaction's execution for a debugger: its frames, sources and gas by line.

        The transaction is executed again on the state of its block, and recorded; the last recordings are kept. Without
        sources the frames have no contracts, and steps no lines. Numbers of steps, frames and sources start at zero.
        """
        execution = self._executions.of_transaction(hash)
        return Offload(lambda: _overview(execution()))

    @method(
        TransactionNotFound,
        StepNotRecorded,
        TraceTooLarge,
        DeadlinePassed,
        served_by=ServedBy.PRODUCER,
        past=Past.REPLAY,
    )
    def get_execution_steps(
        self, hash: TransactionHash, from_: Number, count: Number
    ) -> Offload[StepPage]:
        """Return up to 2,500 steps of a sealed transaction's execution.

        There are fewer at the end, and before steps of a long execution that are not recorded.
        """
        if not 1 <= count <= MAX_PAGE:
            raise MalformedValue(f"count is from 1 to {MAX_PAGE:,}, got {count:d}")
        execution = self._executions.of_transaction(hash)

        def work() -> StepPage:
            recording = execution().recording
            found = recorded_range(recording, from_)
            start = from_ - found.first
            steps = found.steps[start : start + count]
            return StepPage(from_=int(from_), steps=[_step(it) for it in steps])

        return Offload(work)


def recorded_range(recording: ExecutionRecording, step: int) -> StepRange:
    """Return the range that has a step; raise `StepNotRecorded` if there is none."""
    found = recording.range_at(step)
    if found is None:
        ranges = [f"{it.first:d} to {it.end - 1:d}" for it in recording.ranges if it.steps]
        raise StepNotRecorded(step, recording.total, " and ".join(ranges))
    return found


def _overview(execution: Execution) -> ExecutionOverview:
    recording = execution.recording
    outermost = recording.frames[0].frame
    lines = recording.gas_by_line or {}
    gas = [0] * len(recording.sources)
    for (source, _), sums in lines.items():
        gas[source] += sums.gas
    names = {it.name: number for number, it in reversed([*enumerate(recording.sources)])}
    return ExecutionOverview(
        transaction_hash=execution.transaction,
        block_hash=execution.block,
        failed=outermost.error is not None,
        error=outermost.error,
        steps=recording.total,
        recorded=[
            RecordedRange(from_=it.first, count=len(it.steps))
            for it in recording.ranges
            if it.steps
        ],
        frames=[_frame(it, names) for it in recording.frames],
        omitted_frames=recording.omitted_frames,
        sources=[
            ExecutedSource(
                name=it.name,
                text=None if it.text is None else it.text.decode(errors="replace"),
                gas=gas[number],
            )
            for number, it in enumerate(recording.sources)
        ],
        omitted_sources=recording.omitted_sources,
        optimized=recording.is_optimized,
        gas_by_line=None
        if recording.gas_by_line is None
        else [
            ExecutedLine(source=source, line=line, gas=sums.gas, steps=sums.steps)
            for (source, line), sums in sorted(lines.items())
        ],
        stack_trace=failure_trace(recording.stack_trace),
    )


def _frame(recorded: RecordedFrame, sources: dict[str, int]) -> ExecutedFrame:
    frame, contract = recorded.frame, recorded.contract
    return ExecutedFrame(
        parent=recorded.parent,
        depth=recorded.depth,
        type=frame.type,
        from_=Address.parse(frame.sender),
        to=None if frame.to is None else Address.parse(frame.to),
        value=Quantity.parse(frame.value),
        input_size=recorded.input_size,
        output_size=recorded.output_size,
        gas=int(frame.gas, 16),
        gas_used=int(frame.gas_used, 16),
        failed=frame.error is not None,
        error=frame.error,
        first_step=recorded.first,
        last_step=recorded.last,
        contract=None if contract is None else contract.name,
        function=recorded.function,
        source=None if contract is None else sources.get(contract.file),
        optimized=None if contract is None else contract.is_optimized,
    )


def _step(step: RecordedStep) -> ExecutedStep:
    return ExecutedStep(
        op=step.op,
        pc=step.pc,
        gas=step.gas,
        cost=step.cost,
        frame=step.frame,
        functions=step.functions,
        source=step.source,
        line=step.line,
        error=step.error,
        change=None if step.change is None else _change(step.change),
    )


def _change(access: SlotAccess) -> WrittenSlot:
    return WrittenSlot(
        address=None if access.key.address is None else Address.parse(access.key.address),
        slot=_word(access.key.slot),
        before=_word(access.before),
        after=_word(access.value),
        transient=access.key.is_transient,
    )


def _word(value: int) -> Hash32:
    return Hash32(value.to_bytes(32))
