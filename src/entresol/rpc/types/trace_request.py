"""Parameters of the `debug_trace` and `trace_` methods: tracers and their options, types of traces, filters of frames."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeAlias

from entresol._native import Tracer
from entresol.errors import InvalidParams, MalformedValue
from entresol.primitives.values import Address, excerpt
from entresol.rpc.jsonrpc.codec import convert, encode
from entresol.rpc.jsonrpc.method import Named
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.block_id import BlockNumber
from entresol.rpc.types.call_request import CallObject
from entresol.rpc.types.number import Number
from entresol.rpc.types.simulation_request import BlockOverride, StateOverrides

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3_600.0}  # fmt: skip
_PART: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})(ns|us|µs|μs|ms|s|m|h)")
_WHOLE: Final = re.compile(rf"(?:{_PART.pattern}){{1,8}}")


class GoDuration(float):
    """A duration in seconds."""

    __slots__ = ()

    json_schema: ClassVar[dict[str, Any]] = {"type": "string"}

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read numbers with units, one after another."""
        if not isinstance(value, str) or _WHOLE.fullmatch(value) is None:
            raise MalformedValue(
                f"invalid duration {excerpt(str(value))!r}: it is like 5s or 300ms"
            )
        return cls(sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(value)))

    def to_json(self) -> str:
        """Return the duration in seconds."""
        return f"{float(self):g}s"


TracerConfig: TypeAlias = dict[str, Any]


class TracerOptions(JsonModel, frozen=True, kw_only=True, omit_defaults=True):
    """The options that the engine has to know."""

    tracer: Annotated[str | None, says("Its name; steps are listed without it.")] = None
    tracer_config: Annotated[
        TracerConfig | None,
        says(
            "The options of the tracer: `onlyTopCall` and `withLog` of `callTracer`, `diffMode`, `disableCode` and `disableStorage` of `prestateTracer`, tracers by name for `muxTracer`."
        ),
    ] = None
    enable_memory: Annotated[bool | None, says("Whether steps have their memory.")] = None
    disable_stack: Annotated[bool | None, says("Whether steps have no stack.")] = None
    disable_storage: Annotated[bool | None, says("Whether steps have no slots.")] = None
    enable_return_data: Annotated[
        bool | None, says("Whether steps have what the last call returned.")
    ] = None
    limit: Annotated[
        int | None, says("After how many bytes no more steps are listed; 0 for no limit.")
    ] = None


class TraceConfig(TracerOptions, frozen=True, kw_only=True, omit_defaults=True):
    """The options of a trace; without a tracer it lists every step of the program."""

    timeout: Annotated[
        GoDuration | None, says("How long tracing a transaction may take, as Go writes durations.")
    ] = None

    def options(self) -> bytes:
        """Return the options as the engine takes them; raise `UnknownTracer` if it does not."""
        options = encode(
            TracerOptions(
                tracer=self.tracer,
                tracer_config=self.tracer_config,
                enable_memory=self.enable_memory,
                disable_stack=self.disable_stack,
                disable_storage=self.disable_storage,
                enable_return_data=self.enable_return_data,
                limit=self.limit,
            )
        )
        Tracer(options)
        return options


class TraceCallConfig(TraceConfig, frozen=True, kw_only=True, omit_defaults=True):
    """The options of a traced call: overrides, and the transaction of the block that it runs before."""

    state_overrides: Annotated[
        StateOverrides | None, says("What differs in accounts, by address.")
    ] = None
    block_overrides: Annotated[BlockOverride | None, says("What differs in the block.")] = None
    tx_index: Annotated[
        Number | None,
        says("Before which transaction of the block the call runs; after all of them by default."),
    ] = None


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
    """The frames to return: those of some blocks, from or to some addresses."""

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
        raise InvalidParams("invalid block range, ensure that to block is greater than from block")
    if last - first >= MAX_BLOCKS:
        raise InvalidParams(f"block range too large, currently limited to {MAX_BLOCKS}")
