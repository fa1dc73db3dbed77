"""`eth_` methods about the node itself: chain id, head, syncing, and mining, which there is none of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from entresol.l1.deployment import PROTOCOL_VERSION
from entresol.primitives.values import Address, Quantity
from entresol.rpc.jsonrpc.method import Order, ServedBy, method

if TYPE_CHECKING:
    from entresol.chain.chain import Chain


class EthClient:
    """The node as a client of its network."""

    prefix = "eth"

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    @method(cached=True, served_by=ServedBy.REPLICA)
    def chain_id(self) -> Quantity:
        """Return the chain id."""
        return Quantity(self._chain.rules.chain_id)

    @method(cached=True, served_by=ServedBy.REPLICA)
    def network_id(self) -> str:
        """Return the network id; an alias of `net_version`."""
        return str(self._chain.rules.chain_id)

    @method(getter=True, order=Order.LAST, served_by=ServedBy.REPLICA)
    def block_number(self) -> Quantity:
        """Return the number of the latest block; in a batch, after all its other calls.

        Clients send it in one batch with a transaction, and wait for the blocks after this one.
        """
        return Quantity(self._chain.number)

    @method(cached=True, served_by=ServedBy.REPLICA)
    def syncing(self) -> Literal[False]:
        """Return the sync status: false, because the node has every block."""
        return False

    @method(getter=True, served_by=ServedBy.REPLICA)
    def coinbase(self) -> Address:
        """Return the coinbase address, which receives the priority fees."""
        return self._chain.beneficiary

    @method(cached=True, served_by=ServedBy.REPLICA)
    def mining(self) -> bool:
        """Return whether the node mines: false, because blocks are sealed."""
        return False

    @method(cached=True, served_by=ServedBy.REPLICA)
    def hashrate(self) -> Quantity:
        """Return the hash rate: zero, because blocks are sealed, not mined."""
        return Quantity(0)

    @method(cached=True, served_by=ServedBy.REPLICA)
    def protocol_version(self) -> str:
        """Return the protocol version, as a ZK Stack node names it."""
        major, minor, patch = PROTOCOL_VERSION
        return f"zks/{major}.{minor}.{patch}"
