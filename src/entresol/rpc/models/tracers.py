"""What the tracers of geth return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, UnsetType

from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.model import Choice, ResultModel, says
from entresol.rpc.models.parity import FlatFrame


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
        Data | UnsetType,
        says("What the last call returned, if anything; with `enableReturnData`."),
    ] = UNSET
    memory: Annotated[
        list[Hash32] | UnsetType, says("The memory in words, if any; with `enableMemory`.")
    ] = UNSET
    refund: Annotated[int | UnsetType, says("The refund so far, unless zero.")] = UNSET
    error: Annotated[str | UnsetType, says("Why the step failed; a revert is no failure.")] = UNSET
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
    data: Annotated[Data, says("What is no topic.")]
    position: Annotated[Quantity, says("How many calls of the frame precede it.")]
    index: Annotated[Quantity, says("Its index in the block.")]


FrameType = Literal[
    "CALL", "CALLCODE", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2", "SELFDESTRUCT"
]


class FrameBase(ResultModel, frozen=True, kw_only=True):
    """What frames of `callTracer` and `erc7562Tracer` have in common."""

    type: Annotated[FrameType, says("The instruction that opened it.")]
    from_: Annotated[Address, says("Who called, or who is destroyed.")]
    to: Annotated[
        Address | UnsetType,
        says("Who is called, created or paid; missing if a creation failed."),
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
    """What `prestateTracer` returns."""

    shapes: ClassVar[Mapping[str, Any]] = {
        "no `diffMode`": dict[Address, TracedAccount],
        "`diffMode`": PrestateDifference,
    }


class NoTrace(ResultModel, frozen=True, kw_only=True):
    """An object without members."""


class MuxTrace(ResultModel, frozen=True, kw_only=True):
    """What several tracers return, by their names; those that the request lists."""

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
    """What a tracer returns; `tracer` of the options chooses it."""

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
