"""How a chain responds where the nodes that its clients know disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol.rpc.namespaces.net_web3 import client_version

if TYPE_CHECKING:
    from entresol.node.config.api import ApiConfig

CACHED_SECONDS: Final = 0.3
"""For so long clients may use a nonce or a block number again: a quarter of a second in ethers."""


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between the layers, `entresol anvil`, and a node for Hardhat's tools."""

    client_version: str
    signs_to_bytes: bool = False
    """`eth_signTransaction` returns bytes, as anvil does, and not geth's object."""
    is_hardhat: bool = False
    """Requests mean what they mean to Hardhat, and transactions and calls fail as there (`--hardhat-errors`)."""
    fails_calls: bool = True
    """A call that fails is an error, and not what it returned."""
    held_seconds: float = 0.0
    """How long after its arrival a raw transaction that is sealed at once has its response."""

    @classmethod
    def layer_two(cls, config: ApiConfig) -> Self:
        """Return that of an L2."""
        version, preset = config.client_version, config.preset
        followed = "zksync" if preset is None or preset == "zksync-os" else preset
        found = cls._of(config, version or client_version(followed))
        return msgspec.structs.replace(found, signs_to_bytes=preset == "anvil")

    @classmethod
    def layer_one(cls, config: ApiConfig, *, held_seconds: float = 0.0) -> Self:
        """Return that of the development L1, below an L2."""
        found = cls._of(config, client_version("anvil"))
        return msgspec.structs.replace(found, held_seconds=held_seconds)

    @classmethod
    def anvil(cls, config: ApiConfig) -> Self:
        """Return that of an L1 alone, which takes the place of anvil."""
        found = cls._of(config, config.client_version or client_version("anvil"))
        return msgspec.structs.replace(found, signs_to_bytes=True)

    @classmethod
    def _of(cls, config: ApiConfig, version: str) -> Self:
        return cls(
            client_version=version,
            is_hardhat=config.hardhat_errors,
            fails_calls=config.hardhat_call_failures,
        )
