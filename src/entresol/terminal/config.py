"""Settings of the log, and of what the node writes at start-up."""

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

MAX_VERBOSITY: Final = 5
"""As many as anvil has; the last two log the same."""


class LogConfig(Struct, frozen=True, kw_only=True):
    """Logging, and what the node writes at start-up."""

    silent: Annotated[
        bool,
        Meta(description="Log errors only, and print no banner.", extra={"short": "print nothing"}),
    ] = False
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
    disable_console_log: Annotated[
        bool,
        Meta(
            description="Do not print what contracts log by console.log.",
            extra={"aliases": ("--no-console-log",)},
        ),
    ] = False
    verbosity: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_VERBOSITY,
            description="How much is logged of a transaction on a node with developer methods, also by -v to "
            "-vvvvv: 1 adds the decoded call, 2 events, 3 the call tree of failed transactions, 4 that of all.",
            extra={"counted": ("-v",), "short": "log more of transactions: also -v, -vv, …"},
        ),
    ] = 0
    print_traces: Annotated[
        bool,
        Meta(
            description="Log the call tree of every transaction, as -vvvv does.",
            extra={"short": "log the call tree of each transaction"},
        ),
    ] = False
    abi: Annotated[
        tuple[str, ...],
        Meta(
            title="PATH,…",
            description="ABI files, and folders of artifacts of Hardhat or Foundry, by which the log decodes "
            "calls, events and custom errors.",
            extra={"short": "decode by these ABIs: out, artifacts"},
        ),
    ] = ()
    config_out: Annotated[
        str | None,
        Meta(
            title="FILE",
            description="File to write accounts, keys, chain id, fees and URLs to at start-up, as JSON.",
        ),
    ] = None
