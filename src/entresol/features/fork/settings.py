"""The sections `fork` and `l1_fork`: a layer that is a copy of a remote chain."""

from typing import Annotated, ClassVar, Final

from msgspec import Meta, Struct

from entresol.features.fork.config.fork_settings import (
    CACHE_VARIABLE,
    DEFAULT_BACKOFF,
    DEFAULT_COMPUTE_UNITS,
    DEFAULT_RETRIES,
    DEFAULT_TIMEOUT,
)
from entresol.node.config.setting import AnvilGroup, Mirror

DEFAULT_CACHE_BYTES: Final = 4 * 1024**3
_MILLISECONDS: Final = {"group": "fork", "metavar": "MILLISECONDS", "factor": 1000}


class ForkConfig(Struct, frozen=True, kw_only=True):
    """The L2, or the chain of `entresol anvil`, as a copy of a remote chain."""

    is_per_chain: ClassVar = True
    anvil: ClassVar = AnvilGroup(
        "fork", "The chain as a copy of a remote chain.", reads_variables=True
    )
    mirror: ClassVar = Mirror(
        prefix="l1_",
        title="The development L1 as a copy of a remote chain; what says how it is asked is as for the L2 by default.",
        layer="L1",
        inherited=(
            "fork_retries",
            "fork_timeout",
            "fork_retry_backoff",
            "compute_units_per_second",
            "no_storage_caching",
            "fork_cache",
            "fork_cache_size",
            "offline",
        ),
    )
    """`--l1-fork-url` takes what `--fork-url` takes, and so on for each setting of a fork."""

    fork_url: Annotated[
        tuple[str, ...],
        Meta(
            title="URL|NAME",
            description="Copy the chain behind this JSON-RPC URL: the chain is a fork of it. URL@N stands on block "
            "N. Several are asked in turn, the first one at the start. A name is looked up in "
            "[rpc_endpoints] of foundry.toml, then in the variable ENTRESOL_FORK_<NAME>. Only "
            "scheme, host and port are ever shown.",
            extra={
                "aliases": ("-f", "--rpc-url"),
                "is_repeated": True,
                "is_secret": True,
                "short": "start from the state of another chain",
            },
        ),
    ] = ()
    fork_block_number: Annotated[
        int | None,
        Meta(
            title="N",
            description="Block that the fork stands on; a negative number counts back from the latest one, "
            "which is the default.",
            extra={"short": "the block to start from; else the latest"},
        ),
    ] = None
    fork_block_hash: Annotated[
        str | None, Meta(title="HASH", description="Block that the fork stands on, by its hash.")
    ] = None
    fork_transaction_hash: Annotated[
        str | None,
        Meta(
            title="HASH",
            description="Stand on the block before that of this transaction, and execute the transactions of "
            "its block up to it at the start.",
        ),
    ] = None
    fork_chain_id: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            title="N",
            description="Chain id of the remote, which is then not asked; it needs --fork-block-number.",
        ),
    ] = None
    fork_header: Annotated[
        tuple[str, ...],
        Meta(
            title='"NAME: VALUE"',
            description="HTTP header for the remote, may be repeated; it is sent to the hosts of --fork-url "
            "only, and never shown.",
            extra={
                "aliases": ("--fork-headers",),
                "is_repeated": True,
                "is_secret": True,
                "short": "HTTP header for the remote",
            },
        ),
    ] = ()
    fork_retries: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            title="N",
            description="How often a request to the remote is tried again.",
            extra={"aliases": ("--retries",)},
        ),
    ] = DEFAULT_RETRIES
    fork_timeout: Annotated[
        float,
        Meta(
            gt=0,
            le=3600,
            title="SECONDS",
            description="Longest time that a read of the remote takes, with its retries.",
            extra={
                "anvil": {
                    **_MILLISECONDS,
                    "default": DEFAULT_TIMEOUT * 1000,
                    "aliases": ("--timeout",),
                }
            },
        ),
    ] = DEFAULT_TIMEOUT
    fork_retry_backoff: Annotated[
        float,
        Meta(
            ge=0,
            le=600,
            title="SECONDS",
            description="Time before a request is tried again; it grows.",
            extra={"anvil": {**_MILLISECONDS, "default": DEFAULT_BACKOFF * 1000}},
        ),
    ] = DEFAULT_BACKOFF
    compute_units_per_second: Annotated[
        int,
        Meta(
            ge=1,
            title="N",
            description="Compute units that requests to the remote may cost in a second; a local address has no "
            "limit.",
            extra={"aliases": ("--cups",)},
        ),
    ] = DEFAULT_COMPUTE_UNITS
    no_rate_limit: Annotated[
        bool,
        Meta(
            description="Ask the remote as fast as it responds.",
            extra={"aliases": ("--no-rpc-rate-limit",)},
        ),
    ] = False
    no_storage_caching: Annotated[
        bool, Meta(description="Do not cache on disk what is read of the remote.")
    ] = False
    fork_cache: Annotated[
        str | None,
        Meta(
            title="DIR|FILE",
            description="Directory of the cache, by default that of the user; or one file (.sqlite), as a "
            "project commits it for tests without a network.",
            extra={"short": "what was read of the remote: a folder or a file"},
        ),
    ] = None
    fork_cache_size: Annotated[
        int,
        Meta(
            ge=1,
            title="BYTES",
            description="Maximum size of all caches of a directory; the least recently used fork goes first.",
        ),
    ] = DEFAULT_CACHE_BYTES
    offline: Annotated[
        bool,
        Meta(
            description="Send no request to a remote: the cache has chain id, block and state. What it has not is an error that names it.",
            extra={"short": "send no request to the remote"},
        ),
    ] = False
    fork_verify: Annotated[
        bool,
        Meta(
            description="Prove everything that is read against the header of the block that the fork stands on.",
            extra={"short": "prove what is read of the remote"},
        ),
    ] = False
    fork_state_by_number: Annotated[
        bool,
        Meta(
            description="Ask for state by the number of its block, and check its hash each time, for a remote that serves none by hash."
        ),
    ] = False

    @staticmethod
    def reads(name: str, value: str) -> bool:
        """Return whether a fork reads a variable: the URL of a name, or the directory of its cache."""
        from entresol.features.fork.config.endpoints import names_url  # noqa: PLC0415 - seldom

        return name == CACHE_VARIABLE or names_url(name, value)
