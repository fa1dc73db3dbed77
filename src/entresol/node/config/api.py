"""Settings of the RPC methods."""

from __future__ import annotations

import os
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

MAX_WORKERS: Final = 128


class ApiConfig(Struct, frozen=True, kw_only=True):
    """Which RPC methods are served, and to which clients."""

    dev_methods: Annotated[
        bool | None,
        Meta(
            description="Serve the development namespaces evm_, anvil_ and hardhat_; by default unless "
            "there is an --l1-url, or the node listens on an address that other machines can reach."
        ),
    ] = None
    expose_unlocked_accounts: Annotated[
        bool,
        Meta(
            description="Sign for the development accounts, and allow impersonation, even if there is "
            "an --l1-url, or the node listens on an address that other machines can reach."
        ),
    ] = False
    hardhat_errors: Annotated[
        bool,
        Meta(
            description="Respond to eth_sendTransaction and eth_sendRawTransaction with Hardhat's error if the "
            "transaction has failed in its block."
        ),
    ] = False
    workers: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_WORKERS)] | Literal["auto"],
        Meta(
            title="N|auto",
            description="Processes that serve requests, on the same ports; one of them produces the blocks. "
            "`auto` is one for each core.",
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
    receipt_seconds: Annotated[
        float,
        Meta(
            gt=0, description="Longest time that eth_sendRawTransactionSync waits for the receipt."
        ),
    ] = 60.0
    explorer: Annotated[
        bool,
        Meta(
            description="Serve the explorer to browsers at `/`, its files below `/explorer/`, and the other "
            "layer to it at `/explorer/l1` or `/explorer/l2`."
        ),
    ] = True
    auto_impersonate: Annotated[
        bool,
        Meta(
            description="Send transactions of every account from the start, as anvil_autoImpersonateAccount does.",
            extra={"aliases": ("--auto-unlock",)},
        ),
    ] = False


def worker_count(config: ApiConfig) -> int:
    """Return how many processes serve requests."""
    if config.workers == "auto":
        return min(len(os.sched_getaffinity(0)), MAX_WORKERS)
    return config.workers
