"""The way from a node of a cluster to the one that produces: over HTTP."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Final, Protocol

import aiohttp

from entresol.errors import ProducerUnavailable
from entresol.features.cluster.in_order import InOrder
from entresol.server.handler import ClientConnection, Handler, completed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from entresol.listeners import Listeners

PATH: Final = "/cluster/"
"""A request to this path and a sequence number was forwarded: its response begins with that of the producer."""

FEED_PATH: Final = "/cluster/pending"
"""Members connect to this path for pending transactions."""

MAX_SEQ_DIGITS: Final = 19
"""PostgreSQL counts with 64 bits."""

NOT_PRODUCER: Final = b"-"
RETRY_SECONDS: Final = 0.1
MAX_CONNECTIONS: Final = 256


class Tenure(Protocol):
    """The time in which a node produces."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be written."""


class ClusterView(Protocol):
    """The view that a node has of its cluster, and of itself in it."""

    @property
    def url(self) -> str:
        """The RPC address of this node, for others."""

    @property
    def production(self) -> Tenure | None:
        """The production, while this node produces."""

    @property
    def producer_url(self) -> str | None:
        """The RPC address of another node that produces; None if nobody is known to."""

    @property
    def seq(self) -> int:
        """The last entry of the log that was applied."""

    @property
    def changed(self) -> Listeners[[]]:
        """Notified when the producer may be another one."""

    async def wait_for(self, seq: int) -> None:
        """Wait until an entry of the log is applied."""

    async def wait_for_change(self) -> None:
        """Wait until the producer may be another one."""


class HttpUpstream:
    """Forwards requests to the node that holds the lease.

    While there is none, a request is pending. A forwarded request may be sent again, so it is, until its deadline, and
    to the next producer if one takes over before the last has responded. A request carries how far this node has
    applied the log, and its response how far the producer has: each waits until it has applied the other's. What a
    client sends is forwarded in its order. Remembers: connections, and requests in progress. Fails: with `ProducerUnavailable`.
    """

    def __init__(
        self,
        member: ClusterView,
        seconds: float,
        receipt_seconds: float,
        before: Callable[[], Awaitable[None]],
    ) -> None:
        """Forward within `seconds`, or `receipt_seconds` more for what waits; `before` is awaited first."""
        self._member = member
        self._seconds = seconds
        self._receipt_seconds = receipt_seconds
        self._before = before
        # Requests that wait have connections of their own, so that they delay no others.
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._attempts: dict[asyncio.Timeout, str] = {}
        self._in_order = InOrder(self._forward)
        member.changed.add(self._leave_former_producers)

    def forward(
        self, body: bytes, connection: ClientConnection, *, waits: bool, ordered: bool
    ) -> Awaitable[bytes | None]:
        """Return the producer's response to a request or a batch."""
        if connection.path.startswith(PATH):
            raise ProducerUnavailable("is another node")
        end = asyncio.get_running_loop().time() + self._seconds
        if ordered:
            return self._in_order.forward(body, connection, end, waits=waits)
        return self._forward(body, end, waits=waits)

    def catch_up(self) -> None:
        """Do nothing: a forwarded request has waited for what it did."""

    async def close(self) -> None:
        """Close the connections."""
        await self._in_order.close()
        for session in self._sessions.values():
            await session.close()

    async def _forward(self, body: bytes, end: float, *, waits: bool) -> bytes | None:
        problem = "is not known: no node of the cluster produces blocks at the moment"
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(end) as deadline:
                await self._before()
                while True:
                    url = await self._producer()
                    problem, started = "does not respond", loop.time()
                    if waits:
                        deadline.reschedule(end + self._receipt_seconds)
                    response = await self._attempt(url, body, waits=waits)
                    if waits:
                        end += loop.time() - started
                        deadline.reschedule(end)
                    if response is not None:
                        seq, _, document = response.partition(b"\n")
                        problem = "has responded, but this node does not follow the log"
                        await self._member.wait_for(int(seq))
                        return document or None
                    await asyncio.sleep(RETRY_SECONDS)
        except TimeoutError:
            raise ProducerUnavailable(problem) from None

    @property
    def _url(self) -> str | None:
        """The RPC address of the node that produces; None if nobody is known to."""
        member = self._member
        return member.producer_url if member.production is None else member.url

    async def _producer(self) -> str:
        while (url := self._url) is None:
            await self._member.wait_for_change()
        return url

    async def _attempt(self, url: str, body: bytes, *, waits: bool) -> bytes | None:
        """Return what a producer responds; None without a response, or once another node produces."""
        attempt = asyncio.timeout(None)
        self._attempts[attempt] = url
        try:
            async with attempt:
                return await self._post(url, body, waits=waits)
        except (aiohttp.ClientError, OSError, ValueError):
            # Also the end of the attempt.
            return None
        finally:
            self._attempts.pop(attempt, None)

    def _leave_former_producers(self) -> None:
        """Let requests try the node that produces now, if another one has not responded."""
        now, url = asyncio.get_running_loop().time(), self._url
        former = [attempt for attempt, asked in self._attempts.items() if url not in (None, asked)]
        for attempt in former:
            del self._attempts[attempt]
            attempt.reschedule(now)

    async def _post(self, url: str, body: bytes, *, waits: bool) -> bytes | None:
        session = self._sessions.get(waits)
        if session is None:
            connector = aiohttp.TCPConnector(limit=MAX_CONNECTIONS)
            session = self._sessions[waits] = aiohttp.ClientSession(connector=connector)
        path = f"{url.rstrip('/')}{PATH}{self._member.seq}"
        headers = {"Content-Type": "application/json"}
        async with session.post(path, data=body, headers=headers) as response:
            content = await response.read()
        is_producers = content.partition(b"\n")[0].isdigit()
        return content if response.status == 200 and is_producers else None


class ClusterHandler:
    """The handler of a node in a cluster: the producer responds to what others forward, and no request is lost.

    A request that fails because this node ceases to produce meanwhile is handled again, which forwards it: what is
    forwarded in a cluster may be sent again. Remembers and persists: nothing. Fails: as the handler that it wraps.
    """

    def __init__(self, member: ClusterView, handler: Handler, feed: Handler) -> None:
        """Wrap a handler; `feed` takes what members send to the feed of pending transactions."""
        self._member = member
        self._handler = handler
        self._feed = feed

    def __call__(
        self, body: bytes, connection: ClientConnection
    ) -> bytes | Awaitable[bytes | None] | None:
        """Handle a request of a client, or one that another node forwards."""
        production = self._member.production
        if connection.path == FEED_PATH:
            return self._feed(body, connection)
        if connection.path.startswith(PATH):
            return self._respond(body, connection, production)
        response = self._handler(body, connection)
        if production is None or not (inspect.isawaitable(response) or production.is_over):
            return response
        return self._finish(body, connection, response, production)

    async def _finish(
        self,
        body: bytes,
        connection: ClientConnection,
        response: bytes | Awaitable[bytes | None] | None,
        production: Tenure,
    ) -> bytes | None:
        outcome = await completed(response)
        if not _is_lost(outcome, production):
            return outcome
        while self._member.production is production:
            await self._member.wait_for_change()
        return await completed(self._handler(body, connection))

    async def _respond(
        self, body: bytes, connection: ClientConnection, production: Tenure | None
    ) -> bytes:
        # A producer has applied the whole log, unless a new one has written to it.
        if production is None or not _is_within(
            connection.path.removeprefix(PATH), self._member.seq
        ):
            return NOT_PRODUCER
        response = await completed(self._handler(body, connection))
        if _is_lost(response, production):
            return NOT_PRODUCER
        return b"%d\n%b" % (self._member.seq, response or b"")


def _is_within(text: str, seq: int) -> bool:
    """Return whether a text, which any client may have sent, is a position of the log up to `seq`."""
    is_number = text.isascii() and text.isdigit() and len(text) <= MAX_SEQ_DIGITS
    return is_number and int(text) <= seq


def _is_lost(response: bytes | None, production: Tenure) -> bool:
    """Return whether a request may have failed because its producer ceased to be one."""
    return production.is_over and response is not None and b'"error"' in response
