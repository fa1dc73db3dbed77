"""Logs, filters over them, and subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Raw

from entresol.errors import (
    FilterNotFound,
    InvalidFilter,
    NothingToPushOver,
    SubscriptionRefused,
)
from entresol.primitives.values import Hash32, Quantity
from entresol.rpc.connection import Connection
from entresol.rpc.filters import LogChanges
from entresol.rpc.log_filter import LogFilter, LogLimits, LogSearch
from entresol.rpc.method import Later, method
from entresol.rpc.turns import taking_turns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.chain.chain import Chain
    from entresol.rpc.filters import ChangedLog, Filters
    from entresol.rpc.shapes.views import Views
    from entresol.rpc.subscriptions import Subscriptions


class FilterObject:
    """A filter for logs as clients write it; not a model, since its parts come in several forms."""

    __slots__ = ("wanted",)

    json_schema: ClassVar[dict[str, Any]] = {"type": "object"}

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
    def get_logs(self, filter: FilterObject) -> Raw | Later[Raw]:
        """Return the logs that a filter asks for, in order."""
        store = self._chain.ledger.store
        return self._found(LogSearch.of(store, self._chain, filter.wanted, self._limits))

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
    def get_filter_changes(self, idx: Quantity) -> Raw | list[Hash32] | Later[Raw]:
        """Return what happened since the filter was asked last."""
        news = self._filters.look(idx)
        if not isinstance(news, LogChanges):
            return news

        def work() -> Raw:
            return self._changed(news.read())

        return work() if news.is_quick() else Later(work)

    @method(FilterNotFound)
    def get_filter_logs(self, idx: Quantity) -> Raw | Later[Raw]:
        """Return all logs that a filter for logs asks for."""
        return self._found(self._filters.logs(idx))

    @method()
    def uninstall_filter(self, idx: Quantity) -> bool:
        """Remove a filter, and return whether there was one."""
        return self._filters.uninstall(idx)

    @method(SubscriptionRefused)
    def subscribe(self, connection: Connection, kind: str, options: Any = None) -> str:
        """Tell a WebSocket client of `newHeads`, `logs`, `newPendingTransactions` or `syncing`."""
        if connection.transport == "http":
            raise NothingToPushOver
        return self._subscriptions.subscribe(connection, kind, options)

    @method()
    def unsubscribe(self, connection: Connection, id: str) -> bool:
        """Stop telling, and return whether there was such a subscription."""
        return self._subscriptions.unsubscribe(connection, id)

    def _found(self, search: LogSearch) -> Raw | Later[Raw]:
        """Search at once if that takes no time, or else on a worker thread."""

        def work() -> Raw:
            return self._views.logs(search.run())

        return work() if search.is_quick() else Later(work)

    def _changed(self, changes: Iterable[ChangedLog]) -> Raw:
        changed = taking_turns(changes)
        texts = [bytes(self._views.log(it.log, removed=it.removed)) for it in changed]
        return Raw(b"[" + b",".join(texts) + b"]")
