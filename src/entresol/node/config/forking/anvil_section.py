"""The flags of `entresol anvil` about forks: those of a node, with anvil's names and units."""

from typing import Annotated, Final

from msgspec import Meta

from entresol.fork.settings import DEFAULT_BACKOFF, DEFAULT_TIMEOUT
from entresol.node.config.forking.section import ForkConfig

MILLISECONDS: Final = ("fork_timeout", "fork_retry_backoff")
"""The settings that anvil has in milliseconds, and a node in seconds; their variables are a node's."""


class AnvilFork(ForkConfig, frozen=True, kw_only=True):
    """The chain as a copy of a remote chain."""

    fork_timeout: Annotated[
        float,
        Meta(
            gt=0,
            le=3_600_000,
            title="MILLISECONDS",
            description="Longest time that a read of the remote takes, with its retries.",
            extra={"aliases": ("--timeout",)},
        ),
    ] = DEFAULT_TIMEOUT * 1000
    fork_retry_backoff: Annotated[
        float,
        Meta(
            ge=0,
            le=600_000,
            title="MILLISECONDS",
            description="Time before a request is tried again; it grows.",
        ),
    ] = DEFAULT_BACKOFF * 1000
