"""Results of the `debug_trace` methods, as of the tracers of geth, and of the `trace_` methods, in the format of Parity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.model import Choice, ResultModel, says


class CallAction(ResultModel, frozen=True, kw_only=True):
    """A call."""

    call_type: Annotated[
        Literal["call", "callcode", "delegatecall", "staticcall"],
        says("The instruction; `call` for the transaction itself."),
    ]
    from_: Annotated[Address, says("Who called.")]
    to: Annotated[Address, says("Who was called.")]
    gas: Annotated[Quantity, says("The gas limit.")]
    input: Annotated[Data, says("The call data.")]
    value: Annotated[Quantity, says("The ether that it sent.")]


class CreateAction(ResultModel, frozen=True, kw_only=True):
    """A creation."""

    creation_method: Annotated[
        Literal["create", "create2"], says("The instruction; `create` for the transaction itself.")
    ]
    from_: Annotated[Address, says("Who created.")]
    gas: Annotated[Quantity, says("The gas limit.")]
    init: Annotated[Data, says("The code that returns the contract's.")]
    value: Annotated[Quantity, says("The ether that the contract received.")]


class SuicideAction(ResultModel, frozen=True, kw_only=True):
    """A self-destruct."""

    address: Annotated[Address, says("The contract.")]
    balance: Annotated[Quantity, says("What it had.")]
    refund_address: Annotated[Address, says("Who received it.")]


class FrameOutput(ResultModel, frozen=True, kw_only=True):
    """The output of a call, or of a creation that reverted; or the contract that was created."""

    gas_used: Annotated[Quantity, says("The gas that it used.")]
    output: Annotated[
        Data | UnsetType, says("What it returned or reverted with; missing in a creation.")
    ] = UNSET
    address: Annotated[
        Address | UnsetType, says("The created contract; only if a creation succeeded.")
    ] = UNSET
    code: Annotated[Data | UnsetType, says("Its code; only if a creation succeeded.")] = UNSET


class CallOutput(ResultModel, frozen=True, kw_only=True):
    """The output of a call."""

    gas_used: Annotated[Quantity, says("The gas that it used.")]
    output: Annotated[Data, says("What it returned or reverted with.")]


class ParityFrame(ResultModel, frozen=True, kw_only=True, tag_field="type"):
    """Members of all frames; `type` says which action they have."""

    tag_meaning: ClassVar = "What the frame is."

    error: Annotated[str | UnsetType, says("Why it failed, if it did.")] = UNSET
    subtraces: Annotated[int, says("How many frames are directly within it.")]
    trace_address: Annotated[list[int], says("The index of each frame on the way to it.")]


class ReplayedCall(ParityFrame, frozen=True, kw_only=True, tag="call"):
    """A call."""

    action: Annotated[CallAction, says("The call.")]
    result: Annotated[CallOutput | None, says("Null if it failed otherwise than by a revert.")]


class ReplayedCreation(ParityFrame, frozen=True, kw_only=True, tag="create"):
    """A creation."""

    action: Annotated[CreateAction, says("The creation.")]
    result: Annotated[FrameOutput | None, says("Null if it failed otherwise than by a revert.")]


class ReplayedSuicide(ParityFrame, frozen=True, kw_only=True, tag="suicide"):
    """A self-destruct."""

    action: Annotated[SuicideAction, says("The self-destruct.")]
    result: Annotated[None, says("Always null.")]


ReplayedFrame: TypeAlias = ReplayedCall | ReplayedCreation | ReplayedSuicide
"""A frame of a transaction that need not be in a block."""


class FrameOfBlock(ParityFrame, frozen=True, kw_only=True):
    """A frame, and where its transaction is."""

    block_hash: Annotated[Hash32, says("The block.")]
    block_number: Annotated[int, says("The number of the block.")]
    transaction_hash: Annotated[Hash32, says("The transaction.")]
    transaction_position: Annotated[int, says("Its index in the block.")]


class SealedCall(FrameOfBlock, frozen=True, kw_only=True, tag="call"):
    """A call of a sealed transaction."""

    action: Annotated[CallAction, says("The call.")]
    result: Annotated[CallOutput | None, says("Null if it failed otherwise than by a revert.")]


class SealedCreation(FrameOfBlock, frozen=True, kw_only=True, tag="create"):
    """A creation of a sealed transaction."""

    action: Annotated[CreateAction, says("The creation.")]
    result: Annotated[FrameOutput | None, says("Null if it failed otherwise than by a revert.")]


class SealedSuicide(FrameOfBlock, frozen=True, kw_only=True, tag="suicide"):
    """A self-destruct of a sealed transaction."""

    action: Annotated[SuicideAction, says("The self-destruct.")]
    result: Annotated[None, says("Always null.")]


SealedFrame: TypeAlias = SealedCall | SealedCreation | SealedSuicide
"""A frame of a transaction in a block."""


class FlatBase(ParityFrame, frozen=True, kw_only=True):
    """A frame of `flatCallTracer`: of a transaction, or of a call that is in no block."""

    block_hash: Annotated[Hash32 | UnsetType, says("The block; missing if it is a call's.")] = UNSET
    block_number: Annotated[int, says("The block, or the one that a call ran on.")]
    transaction_hash: Annotated[Hash32 | None, says("The transaction; null if it is a call's.")]
    transaction_position: Annotated[
        int | None, says("Its index in the block; null if it is a call's.")
    ]


class FlatCall(FlatBase, frozen=True, kw_only=True, tag="call"):
    """A call as `flatCallTracer` returns it."""

    action: Annotated[CallAction, says("The call.")]
    result: Annotated[CallOutput | None, says("Null if it failed otherwise than by a revert.")]


class FlatCreation(FlatBase, frozen=True, kw_only=True, tag="create"):
    """A creation as `flatCallTracer` returns it."""

    action: Annotated[CreateAction, says("The creation.")]
    result: Annotated[FrameOutput | None, says("Null if it failed otherwise than by a revert.")]


class FlatSuicide(FlatBase, frozen=True, kw_only=True, tag="suicide"):
    """A self-destruct as `flatCallTracer` returns it."""

    action: Annotated[SuicideAction, says("The self-destruct.")]
    result: Annotated[None, says("Always null.")]


FlatFrame: TypeAlias = FlatCall | FlatCreation | FlatSuicide
"""A frame of `flatCallTracer`."""


class QuantityChange(ResultModel, frozen=True, kw_only=True):
    """A number before and after a transaction."""

    from_: Annotated[Quantity, says("Before it.")]
    to: Annotated[Quantity, says("After it.")]


class QuantityDelta(ResultModel, frozen=True, kw_only=True):
    """How a number changed: exactly one of the members is there."""

    added: Annotated[Quantity | UnsetType, says("The value, if it is new.")] = msgspec.field(
        name="+", default=UNSET
    )
    removed: Annotated[Quantity | UnsetType, says("The value, if it is gone.")] = msgspec.field(
        name="-", default=UNSET
    )
    changed: Annotated[QuantityChange | UnsetType, says("Both values, if it is another one.")] = (
        msgspec.field(name="*", default=UNSET)
    )


class DataChange(ResultModel, frozen=True, kw_only=True):
    """Code before and after a transaction."""

    from_: Annotated[Data, says("Before it.")]
    to: Annotated[Data, says("After it.")]


class DataDelta(ResultModel, frozen=True, kw_only=True):
    """How code changed: exactly one of the members is there."""

    added: Annotated[Data | UnsetType, says("The value, if it is new.")] = msgspec.field(
        name="+", default=UNSET
    )
    removed: Annotated[Data | UnsetType, says("The value, if it is gone.")] = msgspec.field(
        name="-", default=UNSET
    )
    changed: Annotated[DataChange | UnsetType, says("Both values, if it is another one.")] = (
        msgspec.field(name="*", default=UNSET)
    )


class SlotChange(ResultModel, frozen=True, kw_only=True):
    """A slot before and after a transaction."""

    from_: Annotated[Hash32, says("Before it.")]
    to: Annotated[Hash32, says("After it.")]


class SlotDelta(ResultModel, frozen=True, kw_only=True):
    """How a slot changed: exactly one of the members is there."""

    added: Annotated[Hash32 | UnsetType, says("The value, if it is new.")] = msgspec.field(
        name="+", default=UNSET
    )
    removed: Annotated[Hash32 | UnsetType, says("The value, if it is gone.")] = msgspec.field(
        name="-", default=UNSET
    )
    changed: Annotated[SlotChange | UnsetType, says("Both values, if it is another one.")] = (
        msgspec.field(name="*", default=UNSET)
    )


Unchanged: TypeAlias = Literal["="]


class AccountDiff(ResultModel, frozen=True, kw_only=True):
    """How an account changed; `=` stands for what did not."""

    balance: Annotated[Unchanged | QuantityDelta, says("How its balance changed.")]
    code: Annotated[Unchanged | DataDelta, says("How its code changed.")]
    nonce: Annotated[Unchanged | QuantityDelta, says("How its nonce changed.")]
    storage: Annotated[
        dict[Hash32, Unchanged | SlotDelta], says("How its slots changed; those it used.")
    ]


class MemoryDelta(ResultModel, frozen=True, kw_only=True):
    """Memory that a step wrote."""

    off: Annotated[int, says("Where it begins.")]
    data: Annotated[Data, says("What is there now.")]


class StorageDelta(ResultModel, frozen=True, kw_only=True):
    """A slot that a step wrote."""

    key: Annotated[Quantity, says("The slot.")]
    val: Annotated[Quantity, says("Its value.")]


class VmExecutedOperation(ResultModel, frozen=True, kw_only=True):
    """The effects of a step."""

    used: Annotated[int, says("The gas that is left after it.")]
    push: Annotated[list[Quantity], says("What it put on the stack.")]
    mem: Annotated[MemoryDelta | None, says("What it wrote to memory, if anything.")]
    store: Annotated[StorageDelta | None, says("The slot that it wrote, if any.")]


class VmInstruction(ResultModel, frozen=True, kw_only=True):
    """A step of a program."""

    pc: Annotated[int, says("The position in the code.")]
    cost: Annotated[int, says("The gas that it cost.")]
    ex: Annotated[VmExecutedOperation | None, says("What it did; null if it failed.")]
    sub: Annotated[VmTrace | None, says("The program that it called, if it did.")]
    op: Annotated[str | UnsetType, says("The name of the instruction.")] = UNSET
    idx: Annotated[str | UnsetType, says("Its index in the whole trace.")] = UNSET


class VmTrace(ResultModel, frozen=True, kw_only=True):
    """The steps of a program."""

    code: Annotated[Data, says("The program.")]
    ops: Annotated[list[VmInstruction], says("Its steps.")]


class TraceResults(ResultModel, frozen=True, kw_only=True):
    """The types of traces that a request lists."""

    output: Annotated[Data, says("What the transaction or the call returned.")]
    trace: Annotated[list[ReplayedFrame], says("Its frames; none without `trace`.")]
    state_diff: Annotated[
        dict[Address, AccountDiff] | None,
        says("The accounts that it used or changed; null without `stateDiff`."),
    ]
    vm_trace: Annotated[VmTrace | None, says("Its steps; null without `vmTrace`.")]


class ReplayedTransaction(TraceResults, frozen=True, kw_only=True):
    """The traces of a transaction of a block."""

    transaction_hash: Annotated[Hash32, says("The transaction.")]


class StructLog(ResultModel, frozen=True, kw_only=True):
    """A step of a program."""

    pc: Annotated[int, says("The position in the code.")]
    op: Annotated[str, says("The name of the instruction.")]
    gas: Annotated[int, says("What is left before the step.")]
    gas_cost: Annotated[int, says("What the step uses, also in the calls that it makes.")]
    depth: Annotated[int, says("How many frames are open, this one included.")]
    stack: Annotated[
        list[Quantity] | UnsetType,
        says("The stack before the step, the top last; unless `disableStack`."),
    ] = UNSET
    return_data: Annotated[
        Data | UnsetType, says("What the last call returned, if anything; with `enableReturnData`.")
    ] = UNSET
    memory: Annotated[
        list[Hash32] | UnsetType, says("The memory in words, if any; with `enableMemory`.")
    ] = UNSET
    refund: Annotated[int | UnsetType, says("The refund so far, unless zero.")] = UNSET
    error: Annotated[str | UnsetType, says("Why the step failed; a revert is not a failure.")] = (
        UNSET
    )
    storage: Annotated[
        dict[Hash32, Hash32] | UnsetType,
        says("With SLOAD and SSTORE: slots of the contract seen so far; unless `disableStorage`."),
    ] = UNSET


class StructLogTrace(ResultModel, frozen=True, kw_only=True):
    """A transaction or a call, step by step."""

    gas: Annotated[int, says("The gas that it used.")]
    failed: Annotated[bool, says("Whether it reverted or stopped otherwise.")]
    return_value: Annotated[Data, says("What it returned, or reverted with.")]
    struct_logs: Annotated[list[StructLog], says("Its steps, as many as `limit` allows.")]


class GethFrameLog(ResultModel, frozen=True, kw_only=True):
    """A log of a frame."""

    address: Annotated[Address, says("The contract that emitted it.")]
    topics: Annotated[list[Hash32], says("Up to four of them.")]
    data: Annotated[Data, says("The data beside the topics.")]
    position: Annotated[Quantity, says("How many calls of the frame precede it.")]
    index: Annotated[Quantity, says("Its index in the block.")]


FrameType = Literal[
    "CALL", "CALLCODE", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2", "SELFDESTRUCT"
]


class FrameBase(ResultModel, frozen=True, kw_only=True):
    """Members of frames of `callTracer` and `erc7562Tracer`."""

    type: Annotated[FrameType, says("The instruction that opened it.")]
    from_: Annotated[Address, says("Who called, or who is destroyed.")]
    to: Annotated[
        Address | UnsetType, says("Who is called, created or paid; missing if a creation failed.")
    ] = UNSET
    value: Annotated[
        Quantity | UnsetType, says("The ether that moves; missing in a STATICCALL.")
    ] = UNSET
    gas: Annotated[Quantity, says("The gas limit; of the outermost frame, the transaction's.")]
    gas_used: Annotated[Quantity, says("Of the outermost frame, what the transaction used.")]
    input: Annotated[Data, says("Call data, or the code that creates a contract.")]
    output: Annotated[
        Data | UnsetType,
        says("What it returned or reverted with, or the created code; if not empty."),
    ] = UNSET
    error: Annotated[str | UnsetType, says("Why it failed, if it did.")] = UNSET
    revert_reason: Annotated[
        str | UnsetType, says("The text that it reverted with, if there is one.")
    ] = UNSET
    logs: Annotated[
        list[GethFrameLog] | UnsetType, says("With `withLog`, if it succeeded and has any.")
    ] = UNSET


class GethCallFrame(FrameBase, frozen=True, kw_only=True):
    """A call, a creation or a self-destruct, with those within it."""

    calls: Annotated[
        list[GethCallFrame] | UnsetType, says("Those within it, if any; unless `onlyTopCall`.")
    ] = UNSET


class AccessedSlots(ResultModel, frozen=True, kw_only=True):
    """The slots that a frame used."""

    reads: Annotated[
        dict[Hash32, list[Hash32]], says("Slots read before they were written, with their values.")
    ]
    writes: Annotated[dict[Hash32, int], says("Slots written, and how often.")]
    transient_reads: Annotated[dict[Hash32, int], says("Transient slots read, and how often.")]
    transient_writes: Annotated[dict[Hash32, int], says("Transient slots written, and how often.")]


class ContractSize(ResultModel, frozen=True, kw_only=True):
    """A contract that a frame looked at."""

    contract_size: Annotated[int, says("Bytes of its code.")]
    opcode: Annotated[int, says("The instruction that looked at it.")]


class Erc7562Frame(FrameBase, frozen=True, kw_only=True):
    """A frame with what the rules for bundlers (ERC-7562) have to know."""

    accessed_slots: Annotated[AccessedSlots, says("The slots that it used.")]
    ext_code_access_info: Annotated[
        list[str], says("The accounts whose code it looked at with EXTCODE instructions.")
    ]
    used_opcodes: Annotated[
        dict[Quantity, int], says("How often it used each instruction, by its hex code.")
    ]
    contract_size: Annotated[dict[Address, ContractSize], says("The contracts that it looked at.")]
    out_of_gas: Annotated[bool, says("Whether it ran out of gas.")]
    keccak: Annotated[list[Data] | UnsetType, says("What it hashed, if anything.")] = UNSET
    calls: Annotated[list[Erc7562Frame] | UnsetType, says("Those within it, if any.")] = UNSET


class TracedAccount(ResultModel, frozen=True, kw_only=True):
    """An account before or after a transaction; of one after it, what changed."""

    balance: Annotated[Quantity | UnsetType, says("Missing if it did not change.")] = UNSET
    nonce: Annotated[int | UnsetType, says("Missing if zero, or if it did not change.")] = UNSET
    code: Annotated[Data | UnsetType, says("Missing if there is none, or with `disableCode`.")] = (
        UNSET
    )
    code_hash: Annotated[Hash32 | UnsetType, says("Missing if there is no code.")] = UNSET
    storage: Annotated[
        dict[Hash32, Hash32] | UnsetType, says("Its slots, if any; unless `disableStorage`.")
    ] = UNSET


class PrestateDifference(ResultModel, frozen=True, kw_only=True):
    """The accounts that a transaction changed."""

    pre: Annotated[dict[Address, TracedAccount], says("Before it; without those it created.")]
    post: Annotated[dict[Address, TracedAccount], says("After it; without those it destroyed.")]


class Prestate(Choice):
    """The result of `prestateTracer`."""

    shapes: ClassVar[Mapping[str, Any]] = {
        "no `diffMode`": dict[Address, TracedAccount],
        "`diffMode`": PrestateDifference,
    }


class NoTrace(ResultModel, frozen=True, kw_only=True):
    """An object without members."""


class MuxTrace(ResultModel, frozen=True, kw_only=True):
    """The results of several tracers, by their names; those that the request lists."""

    four_byte: Annotated[dict[str, int] | UnsetType, says("Of `4byteTracer`.")] = msgspec.field(
        name="4byteTracer", default=UNSET
    )
    call_tracer: Annotated[GethCallFrame | UnsetType, says("Of `callTracer`.")] = UNSET
    erc7562_tracer: Annotated[Erc7562Frame | UnsetType, says("Of `erc7562Tracer`.")] = UNSET
    flat_call_tracer: Annotated[list[FlatFrame] | UnsetType, says("Of `flatCallTracer`.")] = UNSET
    keccak256_preimage_tracer: Annotated[
        dict[Hash32, Data] | UnsetType, says("Of `keccak256PreimageTracer`.")
    ] = msgspec.field(name="keccak256PreimageTracer", default=UNSET)
    noop_tracer: Annotated[NoTrace | UnsetType, says("Of `noopTracer`.")] = UNSET
    prestate_tracer: Annotated[Prestate | UnsetType, says("Of `prestateTracer`.")] = UNSET


class TracerResult(Choice):
    """The result of a tracer; `tracer` of the options chooses it."""

    shapes: ClassVar[Mapping[str, Any]] = {
        "no tracer": StructLogTrace,
        "`4byteTracer`": dict[str, int],
        "`callTracer`": GethCallFrame,
        "`erc7562Tracer`": Erc7562Frame,
        "`flatCallTracer`": list[FlatFrame],
        "`keccak256PreimageTracer`": dict[Hash32, Data],
        "`muxTracer`": MuxTrace,
        "`noopTracer`": NoTrace,
        "`prestateTracer`": Prestate,
    }


class TransactionTraceResult(ResultModel, frozen=True, kw_only=True):
    """A transaction of a block with its trace, or why there is none."""

    tx_hash: Annotated[Hash32, says("The transaction.")]
    result: Annotated[
        TracerResult | UnsetType, says("What the tracer returns, unless it took too long.")
    ] = UNSET
    error: Annotated[str | UnsetType, says("If it took too long.")] = UNSET
