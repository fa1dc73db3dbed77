"""What the `trace_` methods return, in the format of Parity."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.model import ResultModel, says


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
    """What a call, or a creation that reverted, returned; or the contract that was created."""

    gas_used: Annotated[Quantity, says("The gas that it used.")]
    output: Annotated[
        Data | UnsetType, says("What it returned or reverted with; missing in a creation.")
    ] = UNSET
    address: Annotated[
        Address | UnsetType, says("The created contract; only if a creation succeeded.")
    ] = UNSET
    code: Annotated[Data | UnsetType, says("Its code; only if a creation succeeded.")] = UNSET


class CallOutput(ResultModel, frozen=True, kw_only=True):
    """What a call returned."""

    gas_used: Annotated[Quantity, says("The gas that it used.")]
    output: Annotated[Data, says("What it returned or reverted with.")]


class ParityFrame(ResultModel, frozen=True, kw_only=True, tag_field="type"):
    """What all frames have; `type` says which action they have."""

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
    """What a step did."""

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
