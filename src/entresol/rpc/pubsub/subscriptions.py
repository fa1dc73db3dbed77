"""Subscriptions (`eth_subscribe`): send the events of a chain to subscribed connections."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from entresol._native import keccak256
from entresol.chain.events import BACKLOG, BlockSealed, BlocksReverted, TransactionPending
from entresol.errors import TooManySubscriptions, UnknownSubscription
from entresol.rpc.pubsub.criteria_memory import CriteriaMemory, criteria_bytes
from entresol.rpc.services.log_search import LogLimits
from entresol.rpc.types.log_filter import ANY_LOG, SubscriptionOptions

if TYPE_CHECKING:
    from entresol.chain.events import ChainEvents, Event
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.transactions import Transaction
    from entresol.rpc.cache.block_logs import BlockLogs
    from entresol.storage.log_index import LogQuery

MAX_PER_CONNECTION: Final = 1_024
_Subject = TypeVar("_Subject")


class Subscriber(Protocol):
    """The connection that notifications go to; compared by identity."""

    def send(self, data: bytes) -> object:
        """Send one message, now or when there is room; the connection handles errors."""

    def on_close(self, callback: Callable[[], None]) -> None:
        """Have `callback` called when the connection is closed."""


class NotificationFormat(Protocol):
    """Renders events as JSON."""

    def header(self, sealed: BlockSealed) -> bytes:
        """Return the header of a new block."""

    def logs(self, record: BlockRecord, *, removed: bool) -> BlockLogs:
        """Return the logs of a new or a reverted block."""

    def transaction(self, transaction: Transaction) -> bytes:
        """Return a pending transaction."""


class RecordReader(Protocol):
    """Block records by number."""

    def get_record(self, number: int) -> BlockRecord | None:
        """Return the record of a block."""


class SubscriptionKind(StrEnum):
    """What clients subscribe to."""

    HEADS = "newHeads"
    LOGS = "logs"
    TRANSACTIONS = "newPendingTransactions"
    SYNCING = "syncing"


class _Subscription(NamedTuple):
    """One subscription: `start` is its notification up to the result, `since` its first event."""

    connection: Subscriber
    start: bytes
    since: int
    query: LogQuery = ANY_LOG
    full: bool = False

    def notify(self, result: bytes) -> None:
        self.connection.send(b"%b%b}}" % (self.start, result))


class Subscriptions:
    """The subscriptions of all connections.

    A result is encoded once, however many subscribers there are, and not at all if there are none.

    Remembers: the subscriptions of open connections. Persists: nothing. Assumes: it is called on the thread that
    changes the chain; `wake` has `publish` called soon, and before so many events are unread that some would be
    dropped, it publishes by itself. Fails: with `SubscriptionRejected`, with `FilterMemoryFull`, or with
    `MalformedValue` for malformed options.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        chain_events: ChainEvents,
        records: RecordReader,
        format_: NotificationFormat,
        *,
        wake: Callable[[], None] = lambda: None,
        max_per_connection: int = MAX_PER_CONNECTION,
        limits: LogLimits | None = None,
        memory: CriteriaMemory | None = None,
    ) -> None:
        self._memory = memory or CriteriaMemory()
        self._records = records
        self._format = format_
        self._wake = wake
        self._max_per_connection = max_per_connection
        self._limits = limits or LogLimits()
        self._by_kind: dict[SubscriptionKind, dict[str, _Subscription]] = {
            kind: {} for kind in SubscriptionKind
        }
        self._by_connection: dict[Subscriber, dict[str, SubscriptionKind]] = {}
        self._new_syncing: list[str] = []
        # Events are numbered, so that a subscription gets none from before it was made.
        self._published = 0
        self._unread = 0
        self._chain_events = chain_events
        self._events = chain_events.subscribe(wake=self._on_event)

    def __len__(self) -> int:
        return sum(map(len, self._by_kind.values()))

    def close(self) -> None:
        """Unsubscribe from the chain's events."""
        self._chain_events.unsubscribe(self._events)

    def subscribe(
        self, connection: Subscriber, kind: object, options: SubscriptionOptions | None = None
    ) -> str:
        """Subscribe a connection to events from now on, and return the subscription's id."""
        wanted, subscription_id = _kind(kind), _new_id()
        subscription = _subscription(connection, subscription_id, wanted, options, self._published)
        self._limits.check(subscription.query)
        own = self._by_connection.get(connection)
        if own is not None and len(own) >= self._max_per_connection:
            raise TooManySubscriptions(self._max_per_connection)
        self._memory.reserve(criteria_bytes(subscription.query))
        self._by_kind[wanted][subscription_id] = subscription
        self._by_connection.setdefault(connection, {})[subscription_id] = wanted
        if own is None:
            connection.on_close(lambda: self._drop(connection))
        if wanted is SubscriptionKind.SYNCING:
            # With the next `publish`, because a client learns the id only from the response.
            self._new_syncing.append(subscription_id)
            self._wake()
        return subscription_id

    def unsubscribe(self, connection: Subscriber, subscription_id: str) -> bool:
        """End a subscription of this connection, and say whether it existed."""
        kind = self._by_connection.get(connection, {}).pop(subscription_id, None)
        if kind is None:
            return False
        self._end(kind, subscription_id)
        return True

    def publish(self) -> None:
        """Notify subscribers of the events since the last time."""
        self._unread = 0
        events, _ = self._events.take()
        self._notify_syncing()
        for number, event in enumerate(events, self._published - len(events)):
            match event:
                case BlockSealed():
                    heads = self._subscribed(SubscriptionKind.HEADS, number)
                    _notify(heads, self._format.header, event)
                    self._notify_new_logs(event, number, events)
                case BlocksReverted():
                    for record in reversed(event.records):
                        self._notify_logs(record, number, removed=True)
                case TransactionPending():
                    self._notify_pending(event.transaction, number)

    def _on_event(self) -> None:
        self._published += 1
        if not len(self):
            self._events.take()
            return
        self._unread += 1
        if self._unread == 1:
            self._wake()
        elif self._unread >= BACKLOG // 2:
            self.publish()

    def _subscribed(self, kind: SubscriptionKind, number: int) -> list[_Subscription]:
        return [it for it in self._by_kind[kind].values() if it.since <= number]

    def _notify_syncing(self) -> None:
        new, self._new_syncing = self._new_syncing, []
        for subscription_id in new:
            subscription = self._by_kind[SubscriptionKind.SYNCING].get(subscription_id)
            if subscription is not None:
                subscription.notify(b"false")

    def _notify_pending(self, transaction: Transaction, number: int) -> None:
        subscribed = self._subscribed(SubscriptionKind.TRANSACTIONS, number)
        _notify([it for it in subscribed if not it.full], _hash, transaction)
        _notify([it for it in subscribed if it.full], self._format.transaction, transaction)

    def _notify_new_logs(self, sealed: BlockSealed, number: int, events: list[Event]) -> None:
        if self._by_kind[SubscriptionKind.LOGS]:
            record = self._record(sealed, events)
            if record is not None:
                self._notify_logs(record, number, removed=False)

    def _notify_logs(self, record: BlockRecord, number: int, *, removed: bool) -> None:
        subscribed = self._subscribed(SubscriptionKind.LOGS, number)
        if not subscribed or not any(result.logs for result in record.results):
            return
        logs = self._format.logs(record, removed=removed)
        for subscription in subscribed:
            for log in logs.matching(subscription.query):
                subscription.notify(log)

    def _record(self, sealed: BlockSealed, events: list[Event]) -> BlockRecord | None:
        """Return the record of a block, from a later event if it is reverted since."""
        record = self._records.get_record(sealed.number)
        if record is not None and keccak256(record.header_rlp) == sealed.hash:
            return record
        reverted = (it.records for it in events if isinstance(it, BlocksReverted))
        found = (record for records in reverted for record in records)
        return next((it for it in found if keccak256(it.header_rlp) == sealed.hash), None)

    def _drop(self, connection: Subscriber) -> None:
        for subscription_id, kind in self._by_connection.pop(connection, {}).items():
            self._end(kind, subscription_id)

    def _end(self, kind: SubscriptionKind, subscription_id: str) -> None:
        ended = self._by_kind[kind].pop(subscription_id)
        self._memory.release(criteria_bytes(ended.query))


def _notify(
    subscribed: Sequence[_Subscription], render: Callable[[_Subject], bytes], subject: _Subject
) -> None:
    if subscribed:
        result = render(subject)
        for subscription in subscribed:
            subscription.notify(result)


def _kind(name: object) -> SubscriptionKind:
    for kind in SubscriptionKind:
        if name == kind.value:
            return kind
    raise UnknownSubscription


def _subscription(
    connection: Subscriber,
    subscription_id: str,
    kind: SubscriptionKind,
    options: SubscriptionOptions | None,
    since: int,
) -> _Subscription:
    start = _START % subscription_id.encode()
    if kind is SubscriptionKind.LOGS and options is not None:
        return _Subscription(connection, start, since, query=options.query)
    if kind is SubscriptionKind.TRANSACTIONS and options is not None:
        return _Subscription(connection, start, since, full=options.full)
    return _Subscription(connection, start, since)


def _hash(transaction: Transaction) -> bytes:
    return b'"%b"' % str(transaction.hash).encode()


def _new_id() -> str:
    """Return `0x` and 32 random hex digits, the first not 0."""
    smallest = 16**31
    return hex(smallest + secrets.randbelow(15 * smallest))


_START: Final = (
    b'{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"%b","result":'
)
