"""Logs, filters over them, and subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Raw

from entresol.errors import FilterNotFound, InvalidFilter, SubscriptionRefused
from entresol.primitives.values import Hash32, Quantity
from entresol.rpc.connection import Connection
from entresol.rpc.log_filter import LogFilter, LogLimits, find
from entresol.rpc.method import method

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.chain.chain import Chain
    from entresol.rpc.filters import ChangedLog, Filters
    from entresol.rpc.shapes.views import Views
    from entresol.rpc.subscriptions import Subscriptions


class FilterObject:
    """A filter for logs as clients write it; not a model, since its parts come in several forms."""

    __slots__ = ("wanted",)

    def __init__(self, wanted: LogFilter) -> None:
        self.wanted = wanted

    @classmethod
    def parse(cls, value: object) -> FilterObject:
        """Read the object."""
        return cls(LogFilter.parse(value))


class EthFilters:
    """What happened, asked for or told."""

    prefix = "eth"

    def __init__(
        self,
        chain: Chain,
        views: Views,
        filters: Filters,
        subscriptions: Subscriptions,
        limits: LogLimits | None = None,
    ) -> None:
        self._chain = chain
        self._views = views
        self._filters = filters
        self._subscriptions = subscriptions
        self._limits = limits

    @method(InvalidFilter)
    def get_logs(self, filter: FilterObject) -> Raw:
        """Return the logs that a filter asks for, in order."""
        store = self._chain.ledger.store
        return self._views.logs(find(store, self._chain, filter.wanted, self._limits))

    @method(InvalidFilter)
    def new_filter(self, filter: FilterObject) -> Quantity:
        """Install a filter for logs and return its id."""
        return self._filters.new_log_filter(filter.wanted)

    @method()
    def new_block_filter(self) -> Quantity:
        """Install a filter for new blocks and return its id."""
        return self._filters.new_block_filter()

    @method()
    def new_pending_transaction_filter(self) -> Quantity:
        """Install a filter for transactions that come in and return its id."""
        return self._filters.new_pending_filter()

    @method(FilterNotFound)
    def get_filter_changes(self, idx: Quantity) -> Raw | list[Hash32]:
        """Return what happened since the filter was asked last."""
        changes = self._filters.changes(idx)
        if changes and not isinstance(changes[0], Hash32):
            return self._changed(changes)
        return changes  # type: ignore[return-value]

    @method(FilterNotFound)
    def get_filter_logs(self, idx: Quantity) -> Raw:
        """Return all logs that a filter for logs asks for."""
        return self._views.logs(self._filters.logs(idx))

    @method()
    def uninstall_filter(self, idx: Quantity) -> bool:
        """Remove a filter, and return whether there was one."""
        return self._filters.uninstall(idx)

    @method(SubscriptionRefused)
    def subscribe(self, connection: Connection, kind: str, options: Any = None) -> str:
        """Tell a WebSocket client of `newHeads`, `logs`, `newPendingTransactions` or `syncing`."""
        return self._subscriptions.subscribe(connection, kind, options)

    @method()
    def unsubscribe(self, connection: Connection, id: str) -> bool:
        """Stop telling, and return whether there was such a subscription."""
        return self._subscriptions.unsubscribe(connection, id)

    def _changed(self, changes: Iterable[ChangedLog]) -> Raw:
        texts = [bytes(self._views.log(it.log, removed=it.removed)) for it in changes]
        return Raw(b"[" + b",".join(texts) + b"]")
