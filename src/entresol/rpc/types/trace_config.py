"""Options of the `debug_trace` methods: the tracer, what it records, and how long it may take."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from entresol._native import Tracer
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.go_duration import GoDuration
from entresol.rpc.types.number import Number
from entresol.rpc.types.overrides import BlockOverride, StateOverrides

TracerConfig: TypeAlias = dict[str, Any]


class TracerOptions(JsonModel, frozen=True, kw_only=True, omit_defaults=True):
    """What the engine has to know of the options."""

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
