"""The small namespaces, and what clients ask of a node before anything else."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Literal

from entresol._native import keccak256
from entresol.errors import NotSupported
from entresol.l1.deployment import PROTOCOL_VERSION
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.method import method

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.chain.chain import Chain

_NOT_MINED = "blocks are sealed, not mined"


class Net:
    """The network, of which this node is all."""

    prefix = "net"

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    @method(cached=True)
    def version(self) -> str:
        """Return the chain id in decimal digits."""
        return str(self._chain.rules.chain_id)

    @method()
    def listening(self) -> bool:
        """Return whether the node takes part in a network: false."""
        return False

    @method()
    def peer_count(self) -> Quantity:
        """Return how many other nodes this one talks to: none."""
        return Quantity(0)


class Web3:
    """The node as software."""

    prefix = "web3"

    @method(cached=True)
    def client_version(self) -> str:
        """Return the name and version of the node."""
        return f"entresol/v{metadata.version('entresol')}"

    @method()
    def sha3(self, data: Data) -> Hash32:
        """Return the Keccak-256 hash of data."""
        return Hash32(keccak256(data))


class RpcModules:
    """The namespaces themselves."""

    prefix = "rpc"

    def __init__(self, prefixes: Iterable[str]) -> None:
        self._prefixes = sorted({self.prefix, *prefixes})

    @method()
    def modules(self) -> dict[str, str]:
        """Return the namespaces that the node serves, each with its version."""
        return dict.fromkeys(self._prefixes, "1.0")


class EthBasics:
    """What a node says of itself."""

    prefix = "eth"

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    @method()
    def syncing(self) -> Literal[False]:
        """Return false: the node has every block."""
        return False

    @method()
    def coinbase(self) -> Address:
        """Return the account that gets the tips."""
        return self._chain.rules.beneficiary

    @method()
    def mining(self) -> bool:
        """Return false: blocks are sealed, not mined."""
        return False

    @method()
    def hashrate(self) -> Quantity:
        """Return zero: blocks are sealed, not mined."""
        return Quantity(0)

    @method()
    def protocol_version(self) -> str:
        """Return the protocol that the node speaks, as a ZK Stack node names it."""
        major, minor, patch = PROTOCOL_VERSION
        return f"zks/{major}.{minor}.{patch}"

    @method(NotSupported)
    def get_work(self) -> list[Hash32]:
        """Reject: blocks are sealed, not mined."""
        raise NotSupported(_NOT_MINED)

    @method(NotSupported)
    def submit_work(self) -> bool:
        """Reject: blocks are sealed, not mined."""
        raise NotSupported(_NOT_MINED)

    @method(NotSupported)
    def submit_hashrate(self) -> bool:
        """Reject: blocks are sealed, not mined."""
        raise NotSupported(_NOT_MINED)
