"""Settings of the log, and of what the node writes at start-up."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct


class LogConfig(Struct, frozen=True, kw_only=True):
    """Logging, and what the node writes at start-up."""

    silent: Annotated[bool, Meta(description="Log errors only, and print no banner.")] = False
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(
            description="Minimum level of log messages; requests and transactions are logged at info."
        ),
    ] = "info"
    json_logs: Annotated[
        bool,
        Meta(description="Log one JSON object per line, with level, time, message and fields."),
    ] = False
    config_out: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="File to write accounts, keys, chain id, fees and URLs to at start-up, as JSON.",
        ),
    ] = None
