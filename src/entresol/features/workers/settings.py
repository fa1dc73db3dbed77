"""Settings of the processes that serve one node."""

import os
from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec import Meta, Struct

if TYPE_CHECKING:
    from entresol.node.config.schema import NodeConfig

MAX_WORKERS: Final = 128


class WorkersConfig(Struct, frozen=True, kw_only=True):
    """Several processes that serve one node."""

    workers: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_WORKERS)] | Literal["auto"],
        Meta(
            title="N|auto",
            description="Processes that serve requests, on the same ports; one of them produces the blocks. "
            "`auto` is one for each core.",
            extra={"short": "processes that respond to reads"},
        ),
    ] = 1
    worker_silence_seconds: Annotated[
        float,
        Meta(
            ge=3,
            description="Time without a heartbeat after which a process of --workers is killed and replaced; "
            "while the producer itself stands still, none passes.",
        ),
    ] = 10.0


def worker_count(config: "NodeConfig") -> int:
    """Return how many processes serve requests."""
    workers = config.of(WorkersConfig).workers
    return min(len(os.sched_getaffinity(0)), MAX_WORKERS) if workers == "auto" else workers
