"""Subscriptions (`eth_subscribe`): send the events of a chain to subscribed connections."""

from __future__ import annotations

import math
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from entresol.chain.events import BlockSealed, BlocksReverted, Listening, TransactionPending
from entresol.errors import SubscriptionRejected, SubscriptionsFull
from entresol.listeners import Listeners
from entresol.rpc.cache import BlockLogs
from entresol.rpc.pubsub.criteria_memory import CriteriaMemory, criteria_bytes
from entresol.rpc.services.log_search import LogLimits
from entresol.rpc.types.log_filter import ANY_LOG, SubscriptionOptions

if TYPE_CHECKING:
    from entresol.chain.events import ChainEvents, Event
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.transactions import Transaction
    from entresol.rpc.services.rendered_chain import RenderedChain
    from entresol.server.handler import ClientConnection, Outbox
    from entresol.storage.log_index import LogQuery


class SubscriptionKind(StrEnum):
    """The kinds of events that clients subscribe to."""

    HEADS = "newHeads"
    LOGS = "logs"
    TRANSACTIONS = "newPendingTransactions"
    SYNCING = "syncing"


class Subscription(NamedTuple):
    """A subscription: `start` is its notification up to the result, `since` its first event."""

    connection: ClientConnection
    outbox: Outbox
    id: str
    start: bytes
    since: int
    query: LogQuery = ANY_LOG
    full: bool = False

    def notify(self, result: bytes) -> None:
        """Send a notification with this result."""
        self.outbox.send(b"%b%b}}" % (self.start, result))


def parse_kind(name: object) -> SubscriptionKind:
    """Read the kind of a subscription."""
    for kind in SubscriptionKind:
        if name == kind.value:
            return kind
    raise SubscriptionRejected("Rejecting subscription - invalid parameters provided.")


def new_subscription(
    connection: ClientConnection,
    kind: SubscriptionKind,
    options: SubscriptionOptions | None,
    since: int,
) -> Subscription:
    """Return a subscription with an id of its own; reject options that its kind does not have."""
    subscription_id = _new_id()
    start = _START % subscription_id.encode()
    subscription = Subscription(connection, connection.outbox(), subscription_id, start, since)
    if kind is SubscriptionKind.LOGS and options is not None:
        return subscription._replace(query=options.query)
    if kind is SubscriptionKind.TRANSACTIONS and options is not None:
        return subscription._replace(full=options.full)
    return subscription


def _new_id() -> str:
    smallest = 16**31
    return hex(smallest + secrets.randbelow(15 * smallest))


_START: Final = (
    b'{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"%b","result":'
)


MAX_PER_CONNECTION: Final = 1_024
MAX_PENDING: Final = 500_000
"""Notifications that may be pending for all subscribers together: what is sent in some seconds."""
MIN_COUNTED: Final = 32
"""Events take memory also if there are few subscriptions, so that at least so many are counted."""
TOO_MUCH_PENDING: Final = "too many notifications are pending"
_Subject = TypeVar("_Subject")


class NotificationRenderer:
    """Renders what subscribers are notified of, as the RPC methods render it."""

    def __init__(self, rendered: RenderedChain) -> None:
        self._rendered = rendered

    def header(self, sealed: BlockSealed) -> bytes:
        """Return the header of a new block."""
        return bytes(self._rendered.head(sealed.header, sealed.hash))

    def logs(self, record: BlockRecord, *, removed: bool) -> BlockLogs:
        """Return the logs of a block."""
        return (
            BlockLogs(record, None, removed=True)
            if removed
            else self._rendered.log_cache.logs_in(record)
        )

    def transaction(self, transaction: Transaction) -> bytes:
        """Return a pending transaction."""
        return bytes(self._rendered.pending_transaction(transaction))


class RecordReader(Protocol):
    """Block records by number."""

    def get_record(self, number: int) -> BlockRecord | None:
        """Return the record of a block."""


class Subscriptions:
    """The subscriptions of all connections.

    A result is encoded once, however many subscribers there are, and not at all if there are none.

    Remembers: the subscriptions of open connections. Assumes: it is called on the thread that
    changes the chain; `wake` has `publish_for` called soon, until all events are published. Fails: with
    `SubscriptionRejected`, with `SubscriptionsFull`, or with `MalformedValue` for malformed options.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        chain_events: ChainEvents,
        records: RecordReader,
        format_: NotificationRenderer,
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
        self._by_kind: dict[SubscriptionKind, dict[str, Subscription]] = {
            kind: {} for kind in SubscriptionKind
        }
        self._by_connection: dict[ClientConnection, dict[str, SubscriptionKind]] = {}
        self.changed: Listeners[[]] = Listeners()
        """Notified when there is another subscription, or one less."""
        self._new_syncing: list[str] = []
        # Events are numbered, so that a subscription gets none from before it was made.
        self._published = 0
        self._is_woken = False
        self._queue: deque[tuple[int, Event]] = deque()
        self._running: Iterator[None] | None = None
        self._listening = Listening(chain_events, self._on_event)

    def __len__(self) -> int:
        return sum(map(len, self._by_kind.values()))

    def count(self, kind: SubscriptionKind) -> int:
        """Return how many subscriptions of a kind there are."""
        return len(self._by_kind[kind])

    @property
    def wants_transactions(self) -> bool:
        """Whether there are subscribers of pending transactions."""
        return bool(self.count(SubscriptionKind.TRANSACTIONS))

    def close(self) -> None:
        """Listen to the chain's events no more."""
        self._listening.switch(on=False)

    def subscribe(
        self, connection: ClientConnection, kind: object, options: SubscriptionOptions | None = None
    ) -> str:
        """Subscribe a connection to events from now on, and return the subscription's id."""
        wanted = parse_kind(kind)
        given = new_subscription(connection, wanted, options, self._published)
        subscription = given._replace(query=self._limits.checked_query(given.query))
        subscription_id = subscription.id
        own = self._by_connection.get(connection)
        if own is not None and len(own) >= self._max_per_connection:
            raise SubscriptionsFull("Too many subscriptions on the connection")
        self._memory.reserve(criteria_bytes(subscription.query))
        self._by_kind[wanted][subscription_id] = subscription
        self._by_connection.setdefault(connection, {})[subscription_id] = wanted
        if own is None:
            connection.on_close(lambda: self._drop(connection))
        self._changed()
        if wanted is SubscriptionKind.SYNCING:
            # With the next `publish`, because a client learns the id only from the response.
            self._new_syncing.append(subscription_id)
            self._wake()
        return subscription_id

    def unsubscribe(self, connection: ClientConnection, subscription_id: str) -> bool:
        """End a subscription of this connection, and say whether it existed."""
        kind = self._by_connection.get(connection, {}).pop(subscription_id, None)
        if kind is None:
            return False
        self._end(kind, subscription_id)
        return True

    def publish(self) -> None:
        """Notify subscribers of all events since the last time."""
        self.publish_for(math.inf)

    def publish_for(self, seconds: float) -> bool:
        """Notify subscribers for some time; say whether all events are published."""
        self._is_woken = False
        self._notify_syncing()
        if self._running is None:
            self._running = self._notifications()
        end = perf_counter() + seconds
        for _ in self._running:
            if perf_counter() > end:
                return False
        self._running = None
        return True

    def _notifications(self) -> Iterator[None]:
        """Notify subscribers of the queued events, and yield where others may have their turn."""
        while self._queue:
            number, event = self._queue[0]
            match event:
                case BlockSealed():
                    heads = self._subscribed(SubscriptionKind.HEADS, number)
                    yield from self._notify(heads, self._format.header, event)
                    yield from self._notify_new_logs(event, number)
                case BlocksReverted():
                    for record in reversed(event.records):
                        yield from self._notify_logs(record, number, removed=True)
                        yield
                case TransactionPending():
                    yield from self._notify_pending(event.transaction, number)
            self._queue.popleft()
            yield

    def _on_event(self, event: Event) -> None:
        self._queue.append((self._published, event))
        self._published += 1
        if not self._is_woken:
            self._is_woken = True
            self._wake()
        self._shed()

    def _shed(self) -> None:
        """Close connections while subscribers want more than can be sent: those with most subscriptions, newest first."""
        if not self._is_overloaded():
            return
        newest = reversed(self._by_connection.items())
        for connection, own in sorted(newest, key=lambda entry: -len(entry[1])):
            if not own or not self._is_overloaded():
                return
            self._drop(connection)
            connection.disconnect(TOO_MUCH_PENDING)

    def _is_overloaded(self) -> bool:
        return len(self._queue) * max(len(self), MIN_COUNTED) > MAX_PENDING

    def _subscribed(self, kind: SubscriptionKind, number: int) -> list[Subscription]:
        return [
            subscription
            for subscription in self._by_kind[kind].values()
            if subscription.since <= number
        ]

    def _is_live(self, subscription: Subscription) -> bool:
        return subscription.id in self._by_connection.get(subscription.connection, ())

    def _notify_syncing(self) -> None:
        new, self._new_syncing = self._new_syncing, []
        for subscription_id in new:
            subscription = self._by_kind[SubscriptionKind.SYNCING].get(subscription_id)
            if subscription is not None:
                subscription.notify(b"false")

    def _notify(
        self,
        subscribed: Sequence[Subscription],
        render: Callable[[_Subject], bytes],
        subject: _Subject,
    ) -> Iterator[None]:
        if not subscribed:
            return
        result = render(subject)
        for subscription in subscribed:
            if self._is_live(subscription):
                subscription.notify(result)
                yield

    def _notify_pending(self, transaction: Transaction, number: int) -> Iterator[None]:
        subscribed = self._subscribed(SubscriptionKind.TRANSACTIONS, number)
        yield from self._notify(
            [subscription for subscription in subscribed if not subscription.full],
            _hash,
            transaction,
        )
        full = [subscription for subscription in subscribed if subscription.full]
        yield from self._notify(full, self._format.transaction, transaction)

    def _notify_new_logs(self, sealed: BlockSealed, number: int) -> Iterator[None]:
        if self._by_kind[SubscriptionKind.LOGS]:
            record = self._record(sealed)
            if record is not None:
                yield from self._notify_logs(record, number, removed=False)

    def _notify_logs(self, record: BlockRecord, number: int, *, removed: bool) -> Iterator[None]:
        subscribed = self._subscribed(SubscriptionKind.LOGS, number)
        if not subscribed or not any(result.logs for result in record.results):
            return
        logs = self._format.logs(record, removed=removed)
        for subscription in subscribed:
            yield
            for log in logs.matching(subscription.query):
                if not self._is_live(subscription):
                    break
                subscription.notify(log)
                yield

    def _record(self, sealed: BlockSealed) -> BlockRecord | None:
        """Return the record of a block, from a later event if it is reverted since."""
        record = self._records.get_record(sealed.number)
        if record is not None and record.hash() == sealed.hash:
            return record
        reverted = (event.records for _, event in self._queue if isinstance(event, BlocksReverted))
        found = (record for records in reverted for record in records)
        return next((record for record in found if record.hash() == sealed.hash), None)

    def _drop(self, connection: ClientConnection) -> None:
        for subscription_id, kind in self._by_connection.pop(connection, {}).items():
            self._end(kind, subscription_id)

    def _end(self, kind: SubscriptionKind, subscription_id: str) -> None:
        ended = self._by_kind[kind].pop(subscription_id)
        self._memory.release(criteria_bytes(ended.query))
        self._changed()

    def _changed(self) -> None:
        self._listening.switch(on=any(self._by_kind.values()))
        self.changed.notify()


def _hash(transaction: Transaction) -> bytes:
    return b'"%b"' % str(transaction.hash).encode()
