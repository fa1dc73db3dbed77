"""Flags of anvil that are rejected by name, with the reason."""

from __future__ import annotations

from typing import Final

_FORKING: Final = (
    "forking another chain is not supported yet; the chain starts from a genesis of its own"
)

FORK_FLAGS: Final = dict.fromkeys(
    (
        *("-f", "--fork-url", "--rpc-url", "--fork-block-number", "--fork-transaction-hash"),
        *("--fork-chain-id", "--fork-header", "--fork-headers", "--fork-retry-backoff"),
        *("--compute-units-per-second", "--cups", "--no-rate-limit", "--no-rpc-rate-limit"),
        *("--no-storage-caching", "--retries", "--timeout"),
    ),
    _FORKING,
)

_NETWORKS: Final = "the chain is Ethereum's; other networks are not supported"

ANVIL_REJECTED: Final = {
    **FORK_FLAGS,
    **dict.fromkeys(("-n", "--network", "--celo", "--optimism", "--odyssey"), _NETWORKS),
    "--disable-pool-balance-checks": "a transaction that its sender cannot pay is never accepted",
}
