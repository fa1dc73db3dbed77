"""Settings of the debugger."""

from typing import Annotated

from msgspec import Meta, Struct


class DebuggerConfig(Struct, frozen=True, kw_only=True):
    """The debugger, which shows what was executed by the lines of sources."""

    sources: Annotated[
        tuple[str, ...],
        Meta(
            title="PATH,…",
            description="Output of compilers, by which failures have a stack trace: Foundry's `out`, Hardhat's `artifacts`, "
            "or standard JSON of solc and Vyper.",
            extra={"short": "sources of contracts: out, artifacts", "anvil": {"group": "tools"}},
        ),
    ] = ()
