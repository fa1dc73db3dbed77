"""The pool: transactions that wait for a block."""

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
    """How many transactions wait."""

    pending: Quantity
    queued: Quantity


class PoolContent(JsonModel, frozen=True, kw_only=True):
    """The transactions that wait, by sender and nonce."""

    pending: dict[str, dict[str, Raw]]
    queued: dict[str, dict[str, Raw]]


class PoolSummary(JsonModel, frozen=True, kw_only=True):
    """A line for each transaction that waits, by sender and nonce."""

    pending: dict[str, dict[str, str]]
    queued: dict[str, dict[str, str]]


class SenderContent(JsonModel, frozen=True, kw_only=True):
    """The transactions of one sender that wait, by nonce."""

    pending: dict[str, Raw]
    queued: dict[str, Raw]


class TxPool:
    """Transactions that can go into the next block, and those queued behind a missing nonce."""

    prefix = "txpool"

    def __init__(self, pool: Mempool, rendered: RenderedChain) -> None:
        self._pool = pool
        self._rendered = rendered

    @method()
    def status(self) -> PoolStatus:
        """Return how many transactions are pending and queued."""
        counts = self._pool.counts()
        return PoolStatus(pending=Quantity(counts.pending), queued=Quantity(counts.queued))

    @method()
    def content(self) -> PoolContent:
        """Return all transactions that wait."""
        show = self._rendered.pending_transaction
        return PoolContent(
            pending=_shown(self._pool.pending(), show), queued=_shown(self._pool.queued(), show)
        )

    @method()
    def content_from(self, address: Address) -> SenderContent:
        """Return the transactions of one sender that wait."""
        name, show = address.checksummed(), self._rendered.pending_transaction
        return SenderContent(
            pending=_shown(self._pool.pending(address), show).get(name, {}),
            queued=_shown(self._pool.queued(address), show).get(name, {}),
        )

    @method()
    def inspect(self) -> PoolSummary:
        """Return a line for each transaction that waits: where to, how much, at what price."""
        return PoolSummary(
            pending=_shown(self._pool.pending(), _line), queued=_shown(self._pool.queued(), _line)
        )


def _shown(found: BySender, show: Callable[[Transaction], T]) -> dict[str, dict[str, T]]:
    """Return transactions under the names that clients look for: checksums, and decimal nonces."""
    return {
        sender.checksummed(): {str(nonce): show(it) for nonce, it in waiting.items()}
        for sender, waiting in found.items()
    }


def _line(transaction: Transaction) -> str:
    payload = transaction.payload
    to = "contract creation" if payload.to is None else payload.to.checksummed()
    return f"{to}: {payload.value} wei + {payload.gas_limit} gas {_TIMES} {payload.fee_cap} wei"
