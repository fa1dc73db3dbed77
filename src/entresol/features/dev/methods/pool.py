"""Dropping transactions from the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import ControlRejected
from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.method import Past, method

if TYPE_CHECKING:
    from entresol.chain.mempool import Mempool
    from entresol.storage.store_view import StoreView

_REASON: Final = "a developer dropped it"


class AnvilPool:
    """Dropping transactions, with the results of anvil."""

    prefix = "anvil"

    def __init__(self, pool: Mempool) -> None:
        self._pool = pool

    @method(past=Past.LOCAL)
    def drop_transaction(self, hash: Hash32) -> Hash32 | None:
        """Drop a transaction from the pool; return its hash, or null if it is not there."""
        return None if self._pool.remove(hash, _REASON) is None else hash

    @method()
    def drop_all_transactions(self) -> None:
        """Drop all transactions from the pool."""
        drop_all(self._pool)

    @method()
    def remove_pool_transactions(self, address: Address) -> None:
        """Drop all transactions of a sender from the pool."""
        drop_all(self._pool, address)


class HardhatPool:
    """Dropping transactions, with the results of Hardhat."""

    prefix = "hardhat"

    def __init__(self, pool: Mempool, blocks: StoreView) -> None:
        self._pool = pool
        self._blocks = blocks

    @method(ControlRejected, past=Past.LOCAL)
    def drop_transaction(self, hash: Hash32) -> bool:
        """Drop a transaction from the pool; return whether it was there, and reject one in a block."""
        if self._pool.remove(hash, _REASON) is not None:
            return True
        if self._blocks.locate_transaction(hash) is not None:
            raise ControlRejected(
                f"Transaction {hash} cannot be dropped because it's already mined"
            )
        return False

    @method()
    def drop_all_transactions(self) -> bool:
        """Drop all transactions from the pool."""
        drop_all(self._pool)
        return True


def drop_all(pool: Mempool, sender: Address | None = None) -> None:
    """Drop the transactions of a sender, or of all."""
    for entry in pool.listing().entries:
        if sender in (None, entry.sender):
            pool.remove(entry.transaction.hash, _REASON)
