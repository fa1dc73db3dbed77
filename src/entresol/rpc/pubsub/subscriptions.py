"""Subscriptions: what happens on a chain, sent to the connections that asked for it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from entresol._native import keccak256
from entresol.chain.events import BACKLOG, BlockSealed, BlocksReverted, TransactionPending
from entresol.errors import MalformedValue, TooManySubscriptions, UnknownSubscription
from entresol.rpc.services.log_search import LogLimits
from entresol.rpc.types.log_filter import ANY_LOG, parse_query

if TYPE_CHECKING:
    from entresol.chain.events import ChainEvents, Event
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.transactions import Transaction
    from entresol.rpc.cache.block_logs import BlockLogs
    from entresol.storage.log_index import LogQuery

PER_CONNECTION: Final = 1_024
_Subject = TypeVar("_Subject")


class Subscriber(Protocol):
    """Where notifications go; compared by identity."""

    def send(self, data: bytes) -> object:
        """Send one message, now or when there is room; an error is the connection's own matter."""

    def on_close(self, callback: Callable[[], None]) -> None:
        """Have `callback` called when the connection is gone."""


class NotificationFormat(Protocol):
    """How the things of a chain look in JSON."""

    def header(self, sealed: BlockSealed) -> bytes:
        """Return the header of a new block."""

    def logs(self, record: BlockRecord, *, removed: bool) -> BlockLogs:
        """Return the logs of a block that is new or gone."""

    def transaction(self, transaction: Transaction) -> bytes:
        """Return a transaction that waits."""


class RecordReader(Protocol):
    """Where the records of blocks are."""

    def get_record(self, number: int) -> BlockRecord | None:
        """Return the record of a block."""


class SubscriptionKind(StrEnum):
    """What can be listened to."""

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
    whole: bool = False

    def tell(self, result: bytes) -> None:
        self.connection.send(b"%b%b}}" % (self.start, result))


_Listeners: TypeAlias = dict[str, _Subscription]


class Subscriptions:
    """Who listens to what, on which connection.

    A result is encoded once, however many listen to it, and not at all if nobody does.

    Remembers: the subscriptions of open connections. Persists: nothing. Assumes: it is called on the
    thread that changes the chain; `wake` has `pump` called soon, and before so many events come that
    some would be lost, it pumps by itself. Fails: with `SubscriptionRejected`, or with `MalformedValue`
    for options that cannot be read.
    """

    def __init__(
        self,
        chain_events: ChainEvents,
        records: RecordReader,
        shapes: NotificationFormat,
        *,
        wake: Callable[[], None] = lambda: None,
        per_connection: int = PER_CONNECTION,
        limits: LogLimits | None = None,
    ) -> None:
        self._records = records
        self._shapes = shapes
        self._wake = wake
        self._per_connection = per_connection
        self._limits = limits or LogLimits()
        self._listeners: dict[SubscriptionKind, _Listeners] = {
            kind: {} for kind in SubscriptionKind
        }
        self._kinds: dict[Subscriber, dict[str, SubscriptionKind]] = {}
        self._greetings: list[str] = []
        # Events are numbered, so that nobody hears of one from before the subscription.
        self._published = 0
        self._unread = 0
        self._chain_events = chain_events
        self._events = chain_events.subscribe(wake=self._on_event)

    def __len__(self) -> int:
        return sum(map(len, self._listeners.values()))

    def close(self) -> None:
        """Stop listening to the chain."""
        self._chain_events.unsubscribe(self._events)

    def subscribe(self, connection: Subscriber, kind: object, options: object = None) -> str:
        """Let a connection hear of what happens from now on, and return the subscription's id."""
        wanted, identity = _kind(kind), _new_id()
        listener = _listener(connection, identity, wanted, options, self._published)
        self._limits.check(listener.query)
        own = self._kinds.get(connection)
        if own is not None and len(own) >= self._per_connection:
            raise TooManySubscriptions(self._per_connection)
        self._listeners[wanted][identity] = listener
        self._kinds.setdefault(connection, {})[identity] = wanted
        if own is None:
            connection.on_close(lambda: self._forget(connection))
        if wanted is SubscriptionKind.SYNCING:
            # Only with the next turn, because a client knows the id only after the answer.
            self._greetings.append(identity)
            self._wake()
        return identity

    def unsubscribe(self, connection: Subscriber, identity: str) -> bool:
        """End a subscription of this connection, and say whether it had it."""
        kind = self._kinds.get(connection, {}).pop(identity, None)
        return kind is not None and self._listeners[kind].pop(identity, None) is not None

    def pump(self) -> None:
        """Send what happened since the last time."""
        self._unread = 0
        events, _ = self._events.take()
        self._greet()
        for number, event in enumerate(events, self._published - len(events)):
            match event:
                case BlockSealed():
                    self._tell(
                        self._hearing(SubscriptionKind.HEADS, number), self._shapes.header, event
                    )
                    self._tell_logs_of(event, number, events)
                case BlocksReverted():
                    for record in reversed(event.records):
                        self._tell_logs(record, number, removed=True)
                case TransactionPending():
                    self._tell_pending(event.transaction, number)

    def _on_event(self) -> None:
        self._published += 1
        if not len(self):
            self._events.take()
            return
        self._unread += 1
        if self._unread == 1:
            self._wake()
        elif self._unread >= BACKLOG // 2:
            self.pump()

    def _hearing(self, kind: SubscriptionKind, number: int) -> list[_Subscription]:
        return [it for it in self._listeners[kind].values() if it.since <= number]

    @staticmethod
    def _tell(
        listeners: Sequence[_Subscription], shape: Callable[[_Subject], bytes], subject: _Subject
    ) -> None:
        if listeners:
            result = shape(subject)
            for listener in listeners:
                listener.tell(result)

    def _greet(self) -> None:
        greetings, self._greetings = self._greetings, []
        for identity in greetings:
            if (listener := self._listeners[SubscriptionKind.SYNCING].get(identity)) is not None:
                listener.tell(b"false")

    def _tell_pending(self, transaction: Transaction, number: int) -> None:
        listeners = self._hearing(SubscriptionKind.TRANSACTIONS, number)
        self._tell([it for it in listeners if not it.whole], _hash, transaction)
        self._tell([it for it in listeners if it.whole], self._shapes.transaction, transaction)

    def _tell_logs_of(self, sealed: BlockSealed, number: int, events: list[Event]) -> None:
        if (
            self._listeners[SubscriptionKind.LOGS]
            and (record := self._record(sealed, events)) is not None
        ):
            self._tell_logs(record, number, removed=False)

    def _tell_logs(self, record: BlockRecord, number: int, *, removed: bool) -> None:
        listeners = self._hearing(SubscriptionKind.LOGS, number)
        if not listeners or not any(outcome.logs for outcome in record.results):
            return
        logs = self._shapes.logs(record, removed=removed)
        for listener in listeners:
            for text in logs.matching(listener.query):
                listener.tell(text)

    def _record(self, sealed: BlockSealed, events: list[Event]) -> BlockRecord | None:
        """Return the record of a block, from a later event if the chain went back since."""
        record = self._records.get_record(sealed.number)
        if record is not None and keccak256(record.header_rlp) == sealed.hash:
            return record
        gone = (record for it in events if isinstance(it, BlocksReverted) for record in it.records)
        return next((it for it in gone if keccak256(it.header_rlp) == sealed.hash), None)

    def _forget(self, connection: Subscriber) -> None:
        for identity, kind in self._kinds.pop(connection, {}).items():
            del self._listeners[kind][identity]


def _kind(name: object) -> SubscriptionKind:
    for kind in SubscriptionKind:
        if name == kind.value:
            return kind
    raise UnknownSubscription


def _listener(
    connection: Subscriber, identity: str, kind: SubscriptionKind, options: object, since: int
) -> _Subscription:
    start = _START % identity.encode()
    if kind is SubscriptionKind.LOGS and options is not None:
        return _Subscription(connection, start, since, query=parse_query(options))
    if kind is SubscriptionKind.TRANSACTIONS and options is not None:
        if not isinstance(options, bool):
            raise MalformedValue("whole transactions are asked for by true or false")
        return _Subscription(connection, start, since, whole=options)
    return _Subscription(connection, start, since)


def _hash(transaction: Transaction) -> bytes:
    return b'"%b"' % str(transaction.hash).encode()


def _new_id() -> str:
    """Return `0x` and 32 random hex digits, the first not 0."""
    least = 16**31
    return hex(least + secrets.randbelow(15 * least))


_START: Final = (
    b'{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"%b","result":'
)
