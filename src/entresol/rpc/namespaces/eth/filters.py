"""Logs, filters over them, and subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Raw

from entresol.errors import (
    FilterNotFound,
    InvalidFilter,
    NotificationsNotSupported,
    SubscriptionRejected,
)
from entresol.primitives.values import Hash32, Quantity
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.jsonrpc.offload import Offload
from entresol.rpc.pubsub.log_cursor import LogChanges
from entresol.rpc.render.hex import raw_array
from entresol.rpc.services.log_search import LogLimits, LogSearch
from entresol.rpc.types.log_filter import FilterObject
from entresol.server.handler import ClientConnection

if TYPE_CHECKING:
    from entresol.rpc.pubsub.filters import Filters
    from entresol.rpc.pubsub.subscriptions import Subscriptions
    from entresol.rpc.services.log_search import ChainHead, LogSource


class EthFilters:
    """What happened, asked for or told."""

    prefix = "eth"

    def __init__(
        self,
        head: ChainHead,
        logs: LogSource,
        filters: Filters,
        subscriptions: Subscriptions,
        limits: LogLimits | None = None,
    ) -> None:
        self._head = head
        self._logs = logs
        self._filters = filters
        self._subscriptions = subscriptions
        self._limits = limits

    @method(InvalidFilter)
    def get_logs(self, filter: FilterObject) -> Raw | Offload[Raw]:
        """Return the logs that a filter asks for, in order."""
        return _found(LogSearch.of(self._logs, self._head, filter.wanted, self._limits))

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
    def get_filter_changes(self, idx: Quantity) -> Raw | list[Hash32] | Offload[Raw]:
        """Return what happened since the filter was asked last."""
        news = self._filters.poll(idx)
        return _found(news) if isinstance(news, LogChanges) else news

    @method(FilterNotFound)
    def get_filter_logs(self, idx: Quantity) -> Raw | Offload[Raw]:
        """Return all logs that a filter for logs asks for."""
        return _found(self._filters.logs(idx))

    @method()
    def uninstall_filter(self, idx: Quantity) -> bool:
        """Remove a filter, and return whether there was one."""
        return self._filters.uninstall(idx)

    @method(SubscriptionRejected)
    def subscribe(self, connection: ClientConnection, kind: str, options: Any = None) -> str:
        """Tell a WebSocket client of `newHeads`, `logs`, `newPendingTransactions` or `syncing`."""
        if connection.transport == "http":
            raise NotificationsNotSupported
        return self._subscriptions.subscribe(connection, kind, options)

    @method()
    def unsubscribe(self, connection: ClientConnection, id: str) -> bool:
        """Stop telling, and return whether there was such a subscription."""
        return self._subscriptions.unsubscribe(connection, id)


def _found(search: LogSearch | LogChanges) -> Raw | Offload[Raw]:
    """Search at once if that takes no time, or else on a worker thread."""
    found = search.run_if_quick()
    return Offload(lambda: raw_array(search.run())) if found is None else raw_array(found)
