"""Parameters of the `trace_` methods: types of traces, and filters of frames."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeAlias

from entresol.errors import InvalidTraceRange, MalformedValue
from entresol.primitives.values import Address
from entresol.rpc.jsonrpc.codec import convert, encode
from entresol.rpc.jsonrpc.method import Named
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.block_id import BlockNumber
from entresol.rpc.types.call_request import CallObject
from entresol.rpc.types.number import Number

TraceType: TypeAlias = Literal["trace", "stateDiff", "vmTrace"]

MAX_BLOCKS: Final = 300
"""How many blocks a filter covers at most, as in anvil."""
MAX_ADDRESSES: Final = 1_000
"""How many addresses a filter names at most."""


def replay_options(types: list[TraceType]) -> bytes:
    """Return the options of a tracer that makes these types of traces."""
    return encode({"ownTracer": "replayTracer", "tracerConfig": types})


def frame_options(
    from_address: list[Address] | None = None,
    to_address: list[Address] | None = None,
    mode: str | None = None,
) -> bytes:
    """Return the options of a tracer that lists the frames of a transaction which match a filter."""
    config = {
        "fromAddress": from_address or [],
        "toAddress": to_address or [],
        "mode": mode or "union",
    }
    return encode({"ownTracer": "localizedTracer", "tracerConfig": config})


class TracedCall:
    """A call, and the types of its traces: an array of both."""

    __slots__ = ("call", "types")

    json_schema: ClassVar[dict[str, Any]] = {"type": "array", "minItems": 2, "maxItems": 2}

    def __init__(self, call: CallObject, types: list[TraceType]) -> None:
        self.call = call
        self.types = types

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read an array of a call and of the types of its traces."""
        if not isinstance(value, list) or len(value) != 2:
            raise MalformedValue("a traced call is an array of a call and of types of traces")
        return cls(convert(value[0], CallObject), convert(value[1], list[TraceType]))


class TraceFilterObject(JsonModel, frozen=True, kw_only=True):
    """Which frames to return: those of some blocks, from or to some addresses."""

    names: ClassVar = Named.RANGE

    from_block: Annotated[BlockNumber | None, says("The first block; by default the earliest.")] = (
        None
    )
    to_block: Annotated[BlockNumber | None, says("The last block; by default the latest.")] = None
    from_address: Annotated[
        list[Address] | None, says("The senders whose frames are wanted; all without it.")
    ] = None
    to_address: Annotated[
        list[Address] | None, says("The recipients whose frames are wanted; all without it.")
    ] = None
    mode: Annotated[
        Literal["union", "intersection"] | None,
        says("Whether one of the addresses has to match, or both a sender and a recipient."),
    ] = None
    after: Annotated[Number | None, says("How many frames to skip.")] = None
    count: Annotated[Number | None, says("How many frames to return at most.")] = None

    def options(self) -> bytes:
        """Return the options of the tracer; without `mode`, one of the addresses has to match."""
        if len(self.from_address or ()) + len(self.to_address or ()) > MAX_ADDRESSES:
            raise MalformedValue(f"a filter names at most {MAX_ADDRESSES} addresses")
        return frame_options(self.from_address, self.to_address, self.mode)


def check_range(first: int, last: int) -> None:
    """Reject a range of blocks that is too large, or ends before it starts."""
    if first > last:
        raise InvalidTraceRange(
            "invalid block range, ensure that to block is greater than from block"
        )
    if last - first >= MAX_BLOCKS:
        raise InvalidTraceRange(f"block range too large, currently limited to {MAX_BLOCKS}")
