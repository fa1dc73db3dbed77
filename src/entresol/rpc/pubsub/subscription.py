"""One subscription: its kind, its options and its notifications."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from entresol.errors import UnknownSubscription
from entresol.rpc.types.log_filter import ANY_LOG, SubscriptionOptions

if TYPE_CHECKING:
    from entresol.server.handler import Outbox
    from entresol.storage.log_index import LogQuery


class Subscriber(Protocol):
    """The connection that notifications go to; compared by identity."""

    def outbox(self) -> Outbox:
        """Return where to send notifications that arrive after the response to the request being handled."""

    def disconnect(self, reason: str) -> None:
        """Close the connection, and say why."""

    def on_close(self, callback: Callable[[], None]) -> None:
        """Have `callback` called when the connection is closed."""


class SubscriptionKind(StrEnum):
    """What clients subscribe to."""

    HEADS = "newHeads"
    LOGS = "logs"
    TRANSACTIONS = "newPendingTransactions"
    SYNCING = "syncing"


class Subscription(NamedTuple):
    """A subscription: `start` is its notification up to the result, `since` its first event."""

    connection: Subscriber
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
    raise UnknownSubscription


def new_subscription(
    connection: Subscriber,
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
    """Return `0x` and 32 random hex digits, the first not 0."""
    smallest = 16**31
    return hex(smallest + secrets.randbelow(15 * smallest))


_START: Final = (
    b'{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"%b","result":'
)
