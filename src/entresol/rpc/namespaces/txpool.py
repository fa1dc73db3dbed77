"""The `txpool_` namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar, cast

from msgspec import Raw

from entresol.offload import POLICY, Offload
from entresol.primitives.values import Address, Quantity
from entresol.rpc.jsonrpc.gil_turns import cooperatively, within_limit
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.models.chain_objects import TransactionInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.mempool.pool_index import PoolListing, PoolView
    from entresol.primitives.transactions import Transaction
    from entresol.rpc.services.rendered_chain import RenderedChain

T = TypeVar("T")

_TIMES = "\N{MULTIPLICATION SIGN}"


Rendered: TypeAlias = Annotated[list[Raw], list[TransactionInfo]]


class PoolStatus(JsonModel, frozen=True, kw_only=True):
    """The numbers of pending and queued transactions."""

    pending: Annotated[Quantity, says("How many the next blocks can have.")]
    queued: Annotated[Quantity, says("How many wait for a missing nonce.")]


class PoolContent(JsonModel, frozen=True, kw_only=True):
    """Pooled transactions by sender and nonce."""

    pending: Annotated[
        dict[str, dict[str, TransactionInfo]],
        says("Those that the next blocks can have, by sender and nonce."),
    ]
    queued: Annotated[
        dict[str, dict[str, TransactionInfo]],
        says("Those that wait for a missing nonce, by sender and nonce."),
    ]


class PoolSummary(JsonModel, frozen=True, kw_only=True):
    """Summaries of pooled transactions by sender and nonce."""

    pending: Annotated[
        dict[str, dict[str, str]],
        says("Those that the next blocks can have, by sender and nonce, in words."),
    ]
    queued: Annotated[
        dict[str, dict[str, str]],
        says("Those that wait for a missing nonce, by sender and nonce, in words."),
    ]


class SenderContent(JsonModel, frozen=True, kw_only=True):
    """Pooled transactions of one sender by nonce."""

    pending: Annotated[
        dict[str, TransactionInfo], says("Those that the next blocks can have, by nonce.")
    ]
    queued: Annotated[
        dict[str, TransactionInfo], says("Those that wait for a missing nonce, by nonce.")
    ]


class TxPool:
    """The pool: pending transactions are executable, queued ones follow a nonce gap."""

    prefix = "txpool"

    def __init__(self, pool: PoolView, rendered: RenderedChain, max_bytes: int) -> None:
        self._pool = pool
        self._rendered = rendered
        self._max_bytes = max_bytes

    @method()
    def status(self) -> PoolStatus:
        """Return the numbers of pending and queued transactions in the pool."""
        counts = self._pool.counts()
        return PoolStatus(pending=Quantity(counts.pending), queued=Quantity(counts.queued))

    @method()
    def content(self) -> PoolContent | Offload[PoolContent]:
        """Return all pooled transactions."""
        listing = self._pool.listing()
        return _run(listing, lambda: PoolContent(**self._contents(listing)))

    @method()
    def content_from(self, address: Address) -> SenderContent | Offload[SenderContent]:
        """Return the pooled transactions of one sender."""
        listing, name = self._pool.listing(address), address.checksummed()

        def work() -> SenderContent:
            contents = self._contents(listing)
            return SenderContent(**{kind: them.get(name, {}) for kind, them in contents.items()})

        return _run(listing, work)

    @method()
    def inspect(self) -> PoolSummary | Offload[PoolSummary]:
        """Return a text summary of each pooled transaction: recipient, value, gas and price."""
        listing = self._pool.listing()
        return _run(listing, lambda: PoolSummary(**self._grouped(listing, _summary, len)))

    @method(name="eth_pendingTransactions")
    def pending_transactions(self) -> Rendered | Offload[Rendered]:
        """Return all transactions in the pool, those of a sender by nonce."""
        listing = self._pool.listing()

        def work() -> list[Raw]:
            render = self._rendered.pending_transaction
            rendered = (render(entry.transaction) for entry in listing.by_sender())
            return list(
                within_limit(rendered, self._max_bytes, lambda text: memoryview(text).nbytes)
            )

        return _run(listing, work)

    def _contents(self, listing: PoolListing) -> dict[str, dict[str, dict[str, TransactionInfo]]]:
        render = self._rendered.pending_transaction
        contents = self._grouped(listing, render, lambda text: memoryview(text).nbytes)
        # Rendered already.
        return cast("dict[str, dict[str, dict[str, TransactionInfo]]]", contents)

    def _grouped(
        self, listing: PoolListing, render: Callable[[Transaction], T], size_of: Callable[[T], int]
    ) -> dict[str, dict[str, dict[str, T]]]:
        found: dict[str, dict[str, dict[str, T]]] = {"pending": {}, "queued": {}}
        names = {sender: sender.checksummed() for sender in cooperatively(listing.gaps)}
        entries = list(listing.by_sender())
        rendered = (render(entry.transaction) for entry in entries)
        for entry, text in zip(
            entries, within_limit(rendered, self._max_bytes, size_of), strict=True
        ):
            kind = found["pending" if listing.is_pending(entry) else "queued"]
            kind.setdefault(names[entry.sender], {})[str(entry.nonce)] = text
        return found


def _run(listing: PoolListing, work: Callable[[], T]) -> T | Offload[T]:
    """Render a short listing at once, and a long one on a thread."""
    return work() if len(listing) <= POLICY.rendered_items else Offload(work)


def _summary(transaction: Transaction) -> str:
    payload = transaction.payload
    to = "contract creation" if payload.to is None else payload.to.checksummed()
    return f"{to}: {payload.value} wei + {payload.gas_limit} gas {_TIMES} {payload.fee_cap} wei"
