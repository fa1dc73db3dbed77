"""Recorded executions as results: an overview, steps, and all that is there at one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol.features.debugger.models.contract_sources import failure_trace
from entresol.features.debugger.models.execution_steps import (
    ExecutedFrame,
    ExecutedLine,
    ExecutedSource,
    ExecutedStep,
    ExecutedStepState,
    ExecutionOverview,
    FrameVariable,
    OpenSourceCall,
    RecordedRange,
    StorageVariable,
    UsedSlot,
    WrittenSlot,
)
from entresol.features.debugger.sources.recording.storage_log import address_of
from entresol.features.debugger.sources.step_state.function_variables import (
    call_stack,
    memory_at,
    variables_at,
)
from entresol.features.debugger.sources.step_state.storage_names import StorageNames
from entresol.primitives.values import Address, Data, Hash32, Quantity

if TYPE_CHECKING:
    from entresol.features.debugger.sources.recording.recording import (
        ExecutionRecording,
        RecordedFrame,
        RecordedStep,
    )
    from entresol.features.debugger.sources.recording.storage_log import SlotAccess, SlotValue
    from entresol.features.debugger.sources.step_state.function_variables import OpenCall

MAX_MEMORY_SHOWN: Final = 16 << 10
"""Bytes of memory of a step."""

MAX_SLOTS: Final = 200
"""Slots of a step."""


def execution_overview(
    block: Hash32, transaction: Hash32, recording: ExecutionRecording
) -> ExecutionOverview:
    """Return the overview of a transaction of a block."""
    outermost = recording.frames[0].frame
    lines = recording.gas_by_line or {}
    gas = [0] * len(recording.sources)
    for (source, _), sums in lines.items():
        gas[source] += sums.gas
    names = {source.name: number for number, source in reversed([*enumerate(recording.sources)])}
    return ExecutionOverview(
        transaction_hash=transaction,
        block_hash=block,
        failed=outermost.error is not None,
        error=outermost.error,
        steps=recording.total,
        recorded=[
            RecordedRange(from_=range_.first, count=len(range_.steps))
            for range_ in recording.ranges
            if range_.steps
        ],
        frames=[_frame(frame, names) for frame in recording.frames],
        omitted_frames=recording.omitted_frames,
        sources=[
            ExecutedSource(
                name=source.name,
                text=None if source.text is None else source.text.decode(errors="replace"),
                gas=gas[number],
            )
            for number, source in enumerate(recording.sources)
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


def executed_step(step: RecordedStep) -> ExecutedStep:
    """Return a step as a result."""
    return ExecutedStep(
        op=step.op,
        pc=step.pc,
        gas=step.gas,
        cost=step.cost,
        frame=step.frame,
        functions=step.functions,
        source=step.place.source,
        line=step.place.line,
        error=step.error,
        change=None if step.change is None else _change(step.change),
    )


def executed_step_state(recording: ExecutionRecording, number: int) -> ExecutedStepState:
    """Return a step with all that is there before it runs; raise `StepNotRecorded` if it is not kept."""
    found = recording.known_range(number)
    step = found.steps[number - found.first]
    frame = recording.frames[step.frame]
    address = address_of(frame.storage)
    memory = memory_at(recording, number)
    words = step.words()
    return ExecutedStepState(
        **msgspec.structs.asdict(executed_step(step)),
        step=int(number),
        storage_address=None if address is None else Address.parse(address),
        call_stack=[_open_call(recording, call) for call in call_stack(recording, number)],
        stack=None if words is None else [Quantity.parse(word) for word in words],
        memory=None if memory is None else Data(memory[:MAX_MEMORY_SHOWN]),
        memory_size=None if memory is None else len(memory),
        storage=_storage(recording, number, frame),
        variables=[
            FrameVariable(
                name=variable.name,
                type=variable.type,
                kind=variable.kind,
                value=variable.value,
                is_certain=variable.value is not None,
            )
            for variable in variables_at(recording, number)
        ],
    )


def _open_call(recording: ExecutionRecording, call: OpenCall) -> OpenSourceCall:
    source, frame = call.place.source, recording.frames[call.frame]
    address = None if frame.is_creation else frame.frame.to
    return OpenSourceCall(
        frame=call.frame,
        contract=call.contract,
        function=call.function,
        source=source,
        file=None if source is None else recording.sources[source].name,
        line=call.place.line,
        address=None if address is None else Address.parse(address),
    )


def _storage(
    recording: ExecutionRecording, number: int, frame: RecordedFrame
) -> list[UsedSlot] | None:
    found = recording.storage.before(number, frame.storage)
    if found is None:
        return None
    slots = list(found)
    layout = None if frame.contract is None else frame.contract.storage_layout
    names = None
    if layout is not None:
        values = {slot.key.slot: slot.value for slot in slots if not slot.key.is_transient}
        names = StorageNames(layout, recording.preimages, values)
    return [_slot(slot, names) for slot in slots[:MAX_SLOTS]]


def _slot(slot: SlotValue, names: StorageNames | None) -> UsedSlot:
    key = slot.key
    variables = [] if names is None or key.is_transient else names.of(key.slot, slot.value)
    return UsedSlot(
        slot=_word(key.slot),
        before=_word(slot.before),
        value=_word(slot.value),
        transient=key.is_transient,
        variables=[
            StorageVariable(name=variable.name, type=variable.type, value=variable.value)
            for variable in variables
        ],
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
