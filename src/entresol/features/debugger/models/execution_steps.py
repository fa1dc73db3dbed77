"""The results of the methods that a debugger uses."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from entresol.features.debugger.models.contract_sources import FailureTrace
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.model import ResultModel, says


class RecordedRange(ResultModel, frozen=True, kw_only=True):
    """Steps that can be asked for."""

    from_: Annotated[int, says("The first one.")] = field(name="from")
    count: Annotated[int, says("How many.")]


class ExecutedFrame(ResultModel, frozen=True, kw_only=True):
    """A call frame of an execution."""

    parent: Annotated[int | None, says("The frame that has opened it; null for the outermost.")]
    depth: Annotated[int, says("One for the outermost.")]
    type: Annotated[str, says("The instruction that has opened it, as `CALL` or `CREATE2`.")]
    from_: Annotated[Address, says("The caller.")] = field(name="from")
    to: Annotated[Address | None, says("The account called; null if it was not created.")]
    value: Annotated[Quantity, says("The value in wei.")]
    input_size: Annotated[int, says("Bytes of call data, or of the code that creates a contract.")]
    output_size: Annotated[int, says("Bytes returned.")]
    gas: Annotated[int, says("The gas that it was given.")]
    gas_used: Annotated[int, says("The gas that it took, with that of frames inside.")]
    failed: Annotated[bool, says("Whether its changes were undone.")]
    error: Annotated[str | None, says("Why it failed.")]
    first_step: Annotated[int | None, says("Its first step; null if it ran no code.")]
    last_step: Annotated[int | None, says("Its last step; frames inside are between the two.")]
    contract: Annotated[str | None, says("The contract; null if its source is not known.")]
    function: Annotated[str | None, says("What was called, as in stack traces.")]
    source: Annotated[int | None, says("The source that defines the contract.")]
    optimized: Annotated[bool | None, says("Whether an optimizer has moved its instructions.")]


class ExecutedSource(ResultModel, frozen=True, kw_only=True):
    """A source that steps are in."""

    name: Annotated[str, says("Its name, as the compiler knows it.")]
    text: Annotated[str | None, says("Its text; null if it is not known, or too long.")]
    gas: Annotated[int, says("The gas of its lines.")]


class ExecutedLine(ResultModel, frozen=True, kw_only=True):
    """A line of a source that ran."""

    source: Annotated[int, says("The source.")]
    line: Annotated[int, says("The line, from one.")]
    gas: Annotated[int, says("What its instructions took, without those of frames inside.")]
    steps: Annotated[int, says("How many instructions.")]


class ExecutionOverview(ResultModel, frozen=True, kw_only=True):
    """An execution as a debugger shows it: its frames, and the sources that they are in."""

    transaction_hash: Annotated[Hash32, says("The hash of the transaction.")]
    block_hash: Annotated[Hash32, says("The hash of its block.")]
    failed: Annotated[bool, says("Whether the outermost frame failed.")]
    error: Annotated[str | None, says("Why.")]
    steps: Annotated[int, says("How many instructions ran.")]
    recorded: Annotated[
        list[RecordedRange],
        says(
            "All steps up to 20,000; of more the first and the last 10,000, unless it was too long."
        ),
    ]
    frames: Annotated[list[ExecutedFrame], says("The frames in the order in which they began.")]
    omitted_frames: Annotated[int, says("How many more there were, beyond 5,000.")]
    sources: Annotated[list[ExecutedSource], says("The sources that steps are in.")]
    omitted_sources: Annotated[int, says("How many more there were, beyond 200.")]
    optimized: Annotated[
        bool | None,
        says(
            "Whether an optimizer has moved instructions, so that lines may jump; null if unknown."
        ),
    ]
    gas_by_line: Annotated[
        list[ExecutedLine] | None, says("The lines that ran; null if the execution was too long.")
    ]
    stack_trace: Annotated[
        FailureTrace | None, says("Where it failed, as `entresol_getStackTrace` says.")
    ]


class WrittenSlot(ResultModel, frozen=True, kw_only=True):
    """A slot that a step writes."""

    address: Annotated[Address | None, says("The account; null if it was never created.")]
    slot: Annotated[Hash32, says("The key of the slot.")]
    before: Annotated[Hash32, says("The value before the step.")]
    after: Annotated[Hash32, says("The value after it.")]
    transient: Annotated[bool, says("Whether it is transient storage.")]


class ExecutedStep(ResultModel, frozen=True, kw_only=True):
    """One instruction."""

    op: Annotated[str, says("The instruction.")]
    pc: Annotated[int, says("Its offset in the code.")]
    gas: Annotated[int, says("The gas that is left before it.")]
    cost: Annotated[int, says("The gas that it takes; a call's includes what it passes on.")]
    frame: Annotated[int, says("The frame.")]
    functions: Annotated[int, says("How many functions of the source are open in the frame.")]
    source: Annotated[int | None, says("The source; null for what the compiler has added.")]
    line: Annotated[int | None, says("The line, from one.")]
    error: Annotated[str | None, says("Why it failed.")]
    change: Annotated[WrittenSlot | None, says("The slot that it writes.")]


class StepPage(ResultModel, frozen=True, kw_only=True):
    """Steps that follow each other."""

    from_: Annotated[int, says("The number of the first one.")] = field(name="from")
    steps: Annotated[list[ExecutedStep], says("As many as were asked for, or as there are.")]


class OpenSourceCall(ResultModel, frozen=True, kw_only=True):
    """A function that is open at a step."""

    frame: Annotated[int, says("Its frame.")]
    contract: Annotated[str | None, says("The contract; null for a free function, or if unknown.")]
    function: Annotated[str | None, says("What was called, as in stack traces.")]
    source: Annotated[int | None, says("The source where it is.")]
    file: Annotated[str | None, says("The name of the source.")]
    line: Annotated[int | None, says("The line where it is, or has called the next one.")]
    address: Annotated[Address | None, says("The account whose code it is.")]


class StorageVariable(ResultModel, frozen=True, kw_only=True):
    """A state variable, or a part of one, in a slot."""

    name: Annotated[str, says("Its name with keys and members, as `balances[0x…].amount`.")]
    type: Annotated[str, says("Its type.")]
    value: Annotated[str | None, says("Its value; null if the slot does not tell.")]


class UsedSlot(ResultModel, frozen=True, kw_only=True):
    """A slot that was used until a step."""

    slot: Annotated[Hash32, says("The key of the slot.")]
    before: Annotated[Hash32, says("The value before the transaction.")]
    value: Annotated[Hash32, says("The value now.")]
    transient: Annotated[bool, says("Whether it is transient storage.")]
    variables: Annotated[
        list[StorageVariable], says("What the compiler's `storageLayout` says is in it.")
    ]


class FrameVariable(ResultModel, frozen=True, kw_only=True):
    """A variable of the function that is open."""

    name: Annotated[str, says("Its name; that of a parameter may be empty.")]
    type: Annotated[str, says("Its type.")]
    kind: Annotated[
        str, says("`argument`, what the frame was called with; `parameter`, `result`, `local`.")
    ]
    value: Annotated[str | None, says("Its value; null if it is not certain.")]
    is_certain: Annotated[bool, says("Whether the value is known.")]


class ExecutedStepState(ExecutedStep, frozen=True, kw_only=True):
    """One instruction, with all that is there before it runs."""

    step: Annotated[int, says("Its number.")]
    storage_address: Annotated[Address | None, says("The account whose storage the frame uses.")]
    call_stack: Annotated[list[OpenSourceCall], says("The open functions, the innermost last.")]
    stack: Annotated[list[Quantity] | None, says("The stack, its top last; null if not kept.")]
    memory: Annotated[Data | None, says("The first 16 KiB of memory; null if it is not known.")]
    memory_size: Annotated[int | None, says("How many bytes there are.")]
    storage: Annotated[
        list[UsedSlot] | None,
        says("The account's slots used until now, the latest first, up to 200; null if not known."),
    ]
    variables: Annotated[list[FrameVariable], says("The variables of the innermost function.")]
