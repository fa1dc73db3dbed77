"""Options of the `debug_trace` methods: the tracer, what it records, and how long it may take."""

from __future__ import annotations

from typing import Any, TypeAlias

from entresol._native import Tracer
from entresol.rpc.jsonrpc.codec import JsonModel, encode
from entresol.rpc.types.go_duration import GoDuration
from entresol.rpc.types.number import Number
from entresol.rpc.types.overrides import BlockOverride, StateOverrides

TracerConfig: TypeAlias = dict[str, Any]


class TracerOptions(JsonModel, frozen=True, kw_only=True, omit_defaults=True):
    """What the engine has to know of the options."""

    tracer: str | None = None
    tracer_config: TracerConfig | None = None
    enable_memory: bool | None = None
    disable_stack: bool | None = None
    disable_storage: bool | None = None
    enable_return_data: bool | None = None
    limit: int | None = None


class TraceConfig(TracerOptions, frozen=True, kw_only=True, omit_defaults=True):
    """The options of a trace; without a tracer it lists every step of the program."""

    timeout: GoDuration | None = None

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

    state_overrides: StateOverrides | None = None
    block_overrides: BlockOverride | None = None
    tx_index: Number | None = None
