"""The `net_`, `web3_` and `rpc_` namespaces."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from entresol._native import keccak256
from entresol.offload import POLICY, Offload
from entresol.primitives.values import Data, Hash32, Quantity
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable


ANVIL_VERSION: Final = "1.7.1"
"""The version of anvil whose developer methods are followed."""
HARDHAT_VERSION: Final = "2.29.0"
"""The version of Hardhat whose responses are followed."""


Followed: TypeAlias = Literal["zksync", "anvil", "hardhat"]
"""The nodes that a chain may follow, by what its clients expect."""

_FOLLOWED: Final[dict[Followed, str]] = {
    "zksync": "zkSync/v2.0",
    "anvil": f"anvil/v{ANVIL_VERSION}",
    "hardhat": f"HardhatNetwork/{HARDHAT_VERSION}",
}


@cache
def client_version(followed: Followed) -> str:
    """Return the client version of a chain: first the node that it follows, then this one."""
    return f"{_FOLLOWED[followed]} entresol/v{VERSION}"


class Net:
    """The `net_` namespace; the node has no peers."""

    prefix = "net"

    def __init__(self, chain_id: int) -> None:
        self._chain_id = chain_id

    @method(cached=True, served_by=ServedBy.REPLICA)
    def version(self) -> str:
        """Return the network id, which is the chain id in decimal digits."""
        return str(self._chain_id)

    @method(served_by=ServedBy.REPLICA)
    def listening(self) -> bool:
        """Return whether the node listens for network connections: false."""
        return False

    @method(served_by=ServedBy.REPLICA)
    def peer_count(self) -> Quantity:
        """Return the number of peers: none."""
        return Quantity(0)


class Web3:
    """The `web3_` namespace."""

    prefix = "web3"

    def __init__(self, client_version: str) -> None:
        self._client_version = client_version

    @method(cached=True, served_by=ServedBy.REPLICA)
    def client_version(self) -> str:
        """Return the client version: first the node whose methods this layer follows, then this one.

        Tools recognise a node by how the text begins. An L2 begins as zksync-era does, `zkSync/v2.0`. The
        development L1 begins with `anvil/v` and the version of anvil whose developer methods it has. By `--preset` an
        L2 begins as anvil or Hardhat does, and `--client-version` replaces the text.
        """
        return self._client_version

    @method(served_by=ServedBy.REPLICA)
    def sha3(self, data: Data) -> Hash32 | Offload[Hash32]:
        """Return the Keccak-256 hash of data."""
        if len(data) > POLICY.data_bytes:
            return Offload(lambda: Hash32(keccak256(data)))
        return Hash32(keccak256(data))


class RpcModules:
    """The method `rpc_modules`."""

    prefix = "rpc"

    def __init__(self, prefixes: Iterable[str]) -> None:
        self._prefixes = sorted({self.prefix, *prefixes})

    @method(served_by=ServedBy.REPLICA)
    def modules(self) -> dict[str, str]:
        """Return the namespaces that the node serves, each with its version."""
        return dict.fromkeys(self._prefixes, "1.0")
