"""The `txpool_` namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec import Raw

from entresol.primitives.values import Address, Quantity
from entresol.rpc.jsonrpc.codec import JsonModel
from entresol.rpc.jsonrpc.method import method

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.mempool import Mempool
    from entresol.chain.mempool.view import BySender
    from entresol.primitives.transactions import Transaction
    from entresol.rpc.services.rendered_chain import RenderedChain

T = TypeVar("T")

_TIMES = "\N{MULTIPLICATION SIGN}"


class PoolStatus(JsonModel, frozen=True, kw_only=True):
    """The numbers of pending and queued transactions."""

    pending: Quantity
    queued: Quantity


class PoolContent(JsonModel, frozen=True, kw_only=True):
    """Pooled transactions by sender and nonce."""

    pending: dict[str, dict[str, Raw]]
    queued: dict[str, dict[str, Raw]]


class PoolSummary(JsonModel, frozen=True, kw_only=True):
    """Summaries of pooled transactions by sender and nonce."""

    pending: dict[str, dict[str, str]]
    queued: dict[str, dict[str, str]]


class SenderContent(JsonModel, frozen=True, kw_only=True):
    """Pooled transactions of one sender by nonce."""

    pending: dict[str, Raw]
    queued: dict[str, Raw]


class TxPool:
    """The pool: pending transactions are executable, queued ones follow a nonce gap."""

    prefix = "txpool"

    def __init__(self, pool: Mempool, rendered: RenderedChain) -> None:
        self._pool = pool
        self._rendered = rendered

    @method()
    def status(self) -> PoolStatus:
        """Return the numbers of pending and queued transactions in the pool."""
        counts = self._pool.counts()
        return PoolStatus(pending=Quantity(counts.pending), queued=Quantity(counts.queued))

    @method()
    def content(self) -> PoolContent:
        """Return all pooled transactions."""
        render = self._rendered.pending_transaction
        return PoolContent(
            pending=_by_nonce(self._pool.pending(), render),
            queued=_by_nonce(self._pool.queued(), render),
        )

    @method()
    def content_from(self, address: Address) -> SenderContent:
        """Return the pooled transactions of one sender."""
        name, render = address.checksummed(), self._rendered.pending_transaction
        return SenderContent(
            pending=_by_nonce(self._pool.pending(address), render).get(name, {}),
            queued=_by_nonce(self._pool.queued(address), render).get(name, {}),
        )

    @method()
    def inspect(self) -> PoolSummary:
        """Return a text summary of each pooled transaction: recipient, value, gas and price."""
        return PoolSummary(
            pending=_by_nonce(self._pool.pending(), _summary),
            queued=_by_nonce(self._pool.queued(), _summary),
        )


def _by_nonce(found: BySender, render: Callable[[Transaction], T]) -> dict[str, dict[str, T]]:
    """Return transactions by checksummed sender and decimal nonce."""
    return {
        sender.checksummed(): {str(nonce): render(it) for nonce, it in transactions.items()}
        for sender, transactions in found.items()
    }


def _summary(transaction: Transaction) -> str:
    payload = transaction.payload
    to = "contract creation" if payload.to is None else payload.to.checksummed()
    return f"{to}: {payload.value} wei + {payload.gas_limit} gas {_TIMES} {payload.fee_cap} wei"
