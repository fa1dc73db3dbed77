"""Feed `newPendingTransactions` subscribers of replicas with what the producer's pool accepts."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final, Protocol

import aiohttp

from entresol.background_task import BackgroundTask
from entresol.chain.events import ChainEvents, EventSubscription, TransactionPending
from entresol.errors import EntresolError
from entresol.features.cluster.upstream import FEED_PATH
from entresol.primitives.transactions import decode
from entresol.primitives.values import Data

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from entresol.features.cluster.postgres.member import Member
    from entresol.listeners import Listeners
    from entresol.server.handler import ClientConnection

ACCEPTED: Final = b"+"
REJECTED: Final = b"-"
REQUEST: Final = "pending "
"""Comes before the id of the member."""
MAX_REQUEST: Final = 64
MAX_MESSAGE: Final = 16 << 20
"""Far above the largest transaction that a pool accepts."""
RETRY_SECONDS: Final = 0.1
CHECK_SECONDS: Final = 0.5
CONNECT_SECONDS: Final = 2.0
READY_SECONDS: Final = 0.5

_ENDED: Final = (
    aiohttp.ClientError,
    OSError,
    # Something else than a text, as the end of the connection.
    TypeError,
    EntresolError,
)


class PendingFeed:
    """The producer's side: sends pending transactions to the members that are connected, once to each.

    Clients that are not members are rejected, so that they cannot take the place of one. Remembers: a connection of each
    member. Assumes: one event loop, whose thread alone changes the chain.
    """

    def __init__(
        self, events: ChainEvents, members: Container[str], is_producer: Callable[[], bool]
    ) -> None:
        self._chain_events = events
        self._members = members
        self._is_producer = is_producer
        self._events: EventSubscription | None = None
        self._connections: dict[str, ClientConnection] = {}

    def accept(self, body: bytes, connection: ClientConnection) -> bytes:
        """Send a member every transaction from now on, in place of its last connection, if this node produces."""
        if connection.transport != "ws" or not self._is_producer():
            return REJECTED
        member = _member_in(body)
        if member not in self._members:
            return REJECTED
        if self._connections.get(member) is not connection:
            self._connections[member] = connection
            connection.on_close(lambda: self._drop(member, connection))
        if self._events is None:
            self._events = self._chain_events.subscribe(wake=self._on_event)
        return ACCEPTED

    def _drop(self, member: str, connection: ClientConnection) -> None:
        if self._connections.get(member) is connection:
            del self._connections[member]
        if not self._connections and self._events is not None:
            self._chain_events.unsubscribe(self._events)
            self._events = None

    def _on_event(self) -> None:
        assert self._events is not None
        events, _ = self._events.take()
        # What a replica is fed is not passed on, or two nodes could feed each other.
        if not self._is_producer():
            return
        for event in events:
            if isinstance(event, TransactionPending):
                message = str(Data(event.transaction.raw)).encode()
                for connection in tuple(self._connections.values()):
                    connection.send(message)


def _member_in(body: bytes) -> str:
    """Return the id in a request, which any client may have sent; empty if there is none."""
    return body.decode("latin-1").removeprefix(REQUEST) if len(body) <= MAX_REQUEST else ""


class TransactionSubscribers(Protocol):
    """Subscribers of this process, or of other processes of the node."""

    @property
    def changed(self) -> Listeners[[]]:
        """Notified when what they want may have changed."""

    @property
    def wants_transactions(self) -> bool:
        """Whether there are subscribers of pending transactions."""


class PendingFollower:
    """A replica's side: publishes what the producer's pool accepts, while there are subscribers.

    Remembers: whether it is connected. Assumes: the event loop of the chain. Fails: never; it connects again, to
    another producer if there is one.
    """

    def __init__(self, member: Member, events: ChainEvents) -> None:
        self._member = member
        self._events = events
        self._subscribers: list[TransactionSubscribers] = []
        self._wanted = asyncio.Event()
        self._connected = asyncio.Event()
        self._ready_by = 0.0
        self._expected_url: str | None = None
        self._task = BackgroundTask("the feed of pending transactions", self._run)

    def serve(self, subscribers: TransactionSubscribers) -> None:
        """Follow while there are such subscribers."""
        self._subscribers.append(subscribers)
        subscribers.changed.add(self._on_change)

    @property
    def problem(self) -> str | None:
        """Why the producer's pool is not followed; None if it is, or if nobody wants it."""
        return self._task.problem

    async def start(self) -> None:
        """Follow as soon as there is a subscriber."""
        self._task.start()

    async def stop(self) -> None:
        """Disconnect."""
        await self._task.stop()

    async def ready(self) -> None:
        """Wait a moment for the connection after subscribers or a producer have come: they see what is forwarded next.

        Not later, as beside a producer that feeds nobody.
        """
        if self._wanted.is_set() and not self._connected.is_set():
            if self._member.producer_url != self._expected_url:
                self._expect_connection()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(self._ready_by):
                    await self._connected.wait()

    def _on_change(self) -> None:
        if not any(subscriber.wants_transactions for subscriber in self._subscribers):
            self._wanted.clear()
        elif not self._wanted.is_set():
            self._wanted.set()
            self._expect_connection()

    def _expect_connection(self) -> None:
        self._expected_url = self._member.producer_url
        self._ready_by = asyncio.get_running_loop().time() + READY_SECONDS

    async def _run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                await self._wanted.wait()
                url = self._member.producer_url
                if url is None:
                    await self._member.wait_for_change()
                    continue
                with contextlib.suppress(*_ENDED):
                    await self._follow(session, url)
                if self._connected.is_set():
                    self._connected.clear()
                    self._expect_connection()
                await asyncio.sleep(RETRY_SECONDS)

    async def _follow(self, session: aiohttp.ClientSession, url: str) -> None:
        """Publish what a producer sends, until it or the last subscriber is gone."""
        path = url.rstrip("/") + FEED_PATH
        async with session.ws_connect(path, max_msg_size=MAX_MESSAGE) as socket:
            await socket.send_str(REQUEST + self._member.id)
            while self._wanted.is_set() and self._member.producer_url == url:
                try:
                    message = (await socket.receive_str(timeout=CHECK_SECONDS)).encode()
                except TimeoutError:
                    continue
                if message == REJECTED:
                    return
                if message == ACCEPTED:
                    self._connected.set()
                else:
                    self._events.publish(TransactionPending(decode(Data.parse(message.decode()))))
