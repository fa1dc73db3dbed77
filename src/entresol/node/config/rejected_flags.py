"""Flags of anvil that are rejected by name, with the reason."""

from __future__ import annotations

from typing import Final

NODE_REJECTED: Final = {
    "--timeout": "say --fork-timeout, which is in seconds; anvil's is in milliseconds",
    "--l1-timeout": "say --l1-fork-timeout, which is in seconds; anvil's is in milliseconds",
}

_NETWORKS: Final = "the chain is Ethereum's; other networks are not supported"

ANVIL_REJECTED: Final = {
    **dict.fromkeys(("-n", "--network", "--celo", "--optimism", "--odyssey"), _NETWORKS),
    "--disable-pool-balance-checks": "a transaction that its sender cannot pay is never accepted",
}
