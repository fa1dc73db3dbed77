"""`eth_getLogs`, filters and subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Raw

from entresol.errors import (
    FilterNotFound,
    InvalidFilter,
    NotificationsNotSupported,
    SubscriptionRejected,
)
from entresol.offload import Offload
from entresol.primitives.values import Quantity
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import HashText
from entresol.rpc.models.chain_objects import LogInfo, SubscriptionId
from entresol.rpc.render.hex import raw_array
from entresol.rpc.services.log_search import LogLimits, LogSearch, check_range
from entresol.rpc.types.block_id import FilterId
from entresol.rpc.types.log_filter import FilterObject, SubscriptionOptions
from entresol.server.handler import ClientConnection

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.rpc.cache import LogCache
    from entresol.rpc.pubsub.filters import FilterLogs, Filters, HashChanges, LogChanges
    from entresol.rpc.pubsub.subscriptions import Subscriptions


_NOTHING: Final = raw_array(())


class EthFilters:
    """Logs and events, by query, by polling or by subscription."""

    prefix = "eth"

    def __init__(
        self,
        chain: Chain,
        logs: LogCache,
        filters: Filters,
        subscriptions: Subscriptions,
        limits: LogLimits | None = None,
    ) -> None:
        self._chain = chain
        self._logs = logs
        self._filters = filters
        self._subscriptions = subscriptions
        self._limits = limits

    @method(InvalidFilter, served_by=ServedBy.BLOCK, past=Past.SPLIT)
    def get_logs(self, filter: FilterObject) -> Annotated[Raw, list[LogInfo]] | Offload[Raw]:
        """Return all logs that match a filter, in order.

        A range that begins above the head, or ends before it begins, is an error.
        """
        check_range(filter.wanted, self._chain)
        return _run(LogSearch.of(self._logs, self._chain, filter.wanted, self._limits))

    @method(InvalidFilter, past=Past.LOCAL)
    def new_filter(self, filter: FilterObject) -> Quantity:
        """Install a filter for logs, and return its id."""
        return self._filters.new_log_filter(filter.wanted)

    @method()
    def new_block_filter(self) -> Quantity:
        """Install a filter for new blocks, and return its id."""
        return self._filters.new_block_filter()

    @method()
    def new_pending_transaction_filter(self) -> Quantity:
        """Install a filter for new pending transactions, and return its id."""
        return self._filters.new_pending_filter()

    @method(FilterNotFound, getter=True)
    def get_filter_changes(
        self, idx: Quantity
    ) -> Annotated[Raw, list[HashText | LogInfo]] | Offload[Raw]:
        """Return the logs, block hashes or transaction hashes since the filter's last poll."""
        return _NOTHING if self._filters.is_current(idx) else _run(self._filters.poll(idx))

    @method(FilterNotFound, getter=True, past=Past.SPLIT)
    def get_filter_logs(self, idx: FilterId) -> Annotated[Raw, list[LogInfo]] | Offload[Raw]:
        """Return all logs that match an installed log filter."""
        return _NOTHING if self._filters.is_known_empty(idx) else _run(self._filters.logs(idx))

    @method()
    def uninstall_filter(self, idx: Quantity) -> bool:
        """Uninstall a filter, and return whether it existed."""
        return self._filters.uninstall(idx)

    @method(SubscriptionRejected, served_by=ServedBy.REPLICA)
    def subscribe(
        self, connection: ClientConnection, kind: str, options: SubscriptionOptions | None = None
    ) -> Annotated[str, SubscriptionId]:
        """Subscribe a WebSocket client to `newHeads`, `logs`, `newPendingTransactions` or `syncing`.

        Each notification is a request `eth_subscription` without an id; its parameters have the id of the
        `subscription` and a `result`.
        """
        if connection.transport == "http":
            raise NotificationsNotSupported
        return self._subscriptions.subscribe(connection, kind, options)

    @method(served_by=ServedBy.REPLICA)
    def unsubscribe(self, connection: ClientConnection, id: str) -> bool:
        """Cancel a subscription, and return whether it existed."""
        return self._subscriptions.unsubscribe(connection, id)


def _run(search: LogSearch | FilterLogs | LogChanges | HashChanges) -> Raw | Offload[Raw]:
    """Search on the event loop if that is quick, or else on a thread."""
    found = search.run_if_quick()
    return Offload(lambda: raw_array(search.run())) if found is None else raw_array(found)
