"""Events of a chain, and subscriptions to them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from entresol.errors import ExecutionFailed
    from entresol.execution.console import ConsoleCalls
    from entresol.primitives.headers import Header
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.transactions import Transaction

BACKLOG: Final = 1_024


class BlockSealed(msgspec.Struct, frozen=True):
    """A block became the head."""

    number: int
    hash: Hash32
    header: Header
    failures: Mapping[int, ExecutionFailed] = {}
    """Why transactions failed, by index, if this node executed them."""
    console: Mapping[int, ConsoleCalls] = {}
    """The transactions' calls of `console.log`, by index."""


class BlocksReverted(msgspec.Struct, frozen=True):
    """The chain was reverted to `head`; `records` are the reverted blocks that were not empty, the newest first."""

    records: tuple[BlockRecord, ...]
    head: int
    size: int = 0
    """How many bytes the records take, roughly."""


class TransactionPending(msgspec.Struct, frozen=True):
    """A transaction entered the pool or the priority queue."""

    transaction: Transaction


Event: TypeAlias = BlockSealed | BlocksReverted | TransactionPending
Listener: TypeAlias = "Callable[[Event], None]"

BLOCK_EVENTS: Final = (BlockSealed, BlocksReverted)
"""The events of sealed blocks."""
ALL_EVENTS: Final[tuple[type[Event], ...]] = (*BLOCK_EVENTS, TransactionPending)


class EventSubscription:
    """A bounded queue of events; a slow subscriber loses the oldest and learns how many, and never blocks the chain."""

    def __init__(self, backlog: int, wake: Callable[[], None] | None) -> None:
        self._events: deque[Event] = deque(maxlen=backlog)
        self._lost = 0
        self._wake = wake

    def take(self) -> tuple[list[Event], int]:
        """Return the events since the last call, and how many older ones were lost."""
        events, lost = list(self._events), self._lost
        self._events.clear()
        self._lost = 0
        return events, lost

    def put(self, event: Event) -> None:
        """Add an event."""
        if len(self._events) == self._events.maxlen:
            self._lost += 1
        self._events.append(event)
        if self._wake is not None:
            self._wake()


class Listening:
    """A listener that is called only while there is something to tell it for."""

    def __init__(self, events: ChainEvents, listener: Listener, *kinds: type[Event]) -> None:
        self._events = events
        self._listener = listener
        self._kinds = kinds
        self._is_on = False

    def switch(self, *, on: bool) -> None:
        """Listen from now on, or no more."""
        if on and not self._is_on:
            self._events.listen(self._listener, *self._kinds)
        elif self._is_on and not on:
            self._events.remove(self._listener)
        self._is_on = on


class ChainEvents:
    """Publishes events, in order, to every listener and subscription, the oldest first."""

    def __init__(self) -> None:
        # The tuples are never changed, only replaced, so that a listener may remove itself or others while an event is
        # published.
        self._listeners: dict[type[Event], tuple[Listener, ...]] = dict.fromkeys(ALL_EVENTS, ())

    def listen(self, listener: Listener, *kinds: type[Event]) -> None:
        """Call `listener` with each further event, or with those of some kinds, on the chain's thread, which it must not hold up."""
        for kind in kinds or ALL_EVENTS:
            self._listeners[kind] += (listener,)

    def remove(self, listener: Listener) -> None:
        """Call `listener` no more."""
        for kind, listeners in self._listeners.items():
            self._listeners[kind] = tuple(known for known in listeners if known != listener)

    def subscribe(
        self, *kinds: type[Event], backlog: int = BACKLOG, wake: Callable[[], None] | None = None
    ) -> EventSubscription:
        """Queue further events, of some kinds or all; `wake` is called after each, on the thread of the chain."""
        subscription = EventSubscription(backlog, wake)
        self.listen(subscription.put, *kinds)
        return subscription

    def unsubscribe(self, subscription: EventSubscription) -> None:
        """End a subscription."""
        self.remove(subscription.put)

    def publish(self, event: Event) -> None:
        """Pass an event to all that want it."""
        for listener in self._listeners[type(event)]:
            listener(event)
