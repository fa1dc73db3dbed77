"""Forward what a client sends in the order in which it comes: one after the other, and together what comes meanwhile."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Raw

from entresol.background_task import cancel
from entresol.errors import ProducerUnavailable
from entresol.rpc.jsonrpc.forwarding import has_id

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from entresol.server.handler import ClientConnection

MAX_TOGETHER: Final = 100
MAX_TOGETHER_BYTES: Final = 1 << 20
"""How many sends are forwarded in one batch, and of how many bytes; far less than a producer accepts."""

AHEAD_SECONDS: Final = 0.1
"""How long a send whose response may take as long as its client wants is ahead of the next one."""


class ForwardTo(Protocol):
    """Forwards a request or a batch, and returns the response; raises `ProducerUnavailable` at `end`."""

    async def __call__(self, body: bytes, end: float, /, *, waits: bool) -> bytes | None:
        """Forward it."""


class _Send(NamedTuple):
    body: bytes
    end: float
    waits: bool
    response: asyncio.Future[bytes | None]


class InOrder:
    """Forwards the sends of each client in their order.

    The next ones of a client wait for the response to the last, and are then forwarded as one batch. Remembers: sends
    that wait for others. Assumes: one event loop, and that a producer begins the items of a batch in their order.
    Fails: as what forwards.
    """

    def __init__(self, forward: ForwardTo) -> None:
        self._forward = forward
        self._queues: WeakKeyDictionary[ClientConnection, deque[_Send]] = WeakKeyDictionary()
        self._tasks: set[asyncio.Task[None]] = set()

    async def forward(
        self, body: bytes, connection: ClientConnection, end: float, *, waits: bool
    ) -> bytes | None:
        """Return the response to a send, or to a batch of them."""
        queue = self._queues.get(connection)
        if queue is None and not waits:
            return await self._first(body, connection, end)
        send = _Send(body, end, waits, asyncio.get_running_loop().create_future())
        if queue is None:
            self._queues[connection] = queue = deque()
            self._start(self._drain(connection, queue))
        queue.append(send)
        return await send.response

    async def close(self) -> None:
        """Forward nothing more."""
        await cancel(*self._tasks)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _first(self, body: bytes, connection: ClientConnection, end: float) -> bytes | None:
        """Forward a send that comes after no other, which needs no task of its own."""
        self._queues[connection] = queue = deque[_Send]()
        try:
            return await self._forward(body, end, waits=False)
        finally:
            if queue:
                self._start(self._drain(connection, queue))
            else:
                self._queues.pop(connection, None)

    async def _drain(self, connection: ClientConnection, queue: deque[_Send]) -> None:
        try:
            while queue:
                group = _next(queue)
                if len(group) > 1:
                    await self._together(group)
                else:
                    await self._alone(*group)
        finally:
            self._queues.pop(connection, None)
            for send in queue:
                send.response.cancel()

    async def _alone(self, send: _Send) -> None:
        if not send.waits:
            await self._respond(send)
            return
        # The one that it waits for may be the next.
        await asyncio.wait([self._start(self._respond(send))], timeout=AHEAD_SECONDS)

    async def _together(self, group: list[_Send]) -> None:
        body = b"[" + b",".join(request.body for request in group) + b"]"
        try:
            found = await self._forward(body, max(request.end for request in group), waits=False)
            responses = _divided(found, group)
        except asyncio.CancelledError:
            for send in group:
                send.response.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - it is the error of each
            for send in group:
                _fail(send, error)
            return
        for index, send in enumerate(group):
            if responses is None:
                # All was rejected together, for which none alone is a reason.
                await self._respond(send)
            elif not send.response.done():
                send.response.set_result(responses[index])

    async def _respond(self, send: _Send) -> None:
        try:
            response = await self._forward(send.body, send.end, waits=send.waits)
        except asyncio.CancelledError:
            send.response.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - the client that waits has it
            _fail(send, error)
        else:
            if not send.response.done():
                send.response.set_result(response)


def _fail(send: _Send, error: Exception) -> None:
    if not send.response.done():
        send.response.set_exception(error)


def _next(queue: deque[_Send]) -> list[_Send]:
    group = [queue.popleft()]
    size = len(group[0].body)
    while queue and len(group) < MAX_TOGETHER and _may_join(group[0]) and _may_join(queue[0]):
        size += len(queue[0].body)
        if size > MAX_TOGETHER_BYTES:
            break
        group.append(queue.popleft())
    return group


def _may_join(send: _Send) -> bool:
    return not send.waits and send.body[:1] == b"{"


def _divided(response: bytes | None, group: list[_Send]) -> list[bytes | None] | None:
    """Return the responses of a batch by item, None for a notification; None if it was rejected as a whole.

    A batch that has others may have been carried out, so nothing of it is forwarded again.
    """
    if response is not None and response[:1] == b"{":
        return None
    try:
        found = iter(msgspec.json.decode(response or b"[]", type=list[Raw]))
        responses = [bytes(next(found)) if has_id(request.body) else None for request in group]
        if next(found, None) is None:
            return responses
    except (msgspec.DecodeError, StopIteration):
        pass
    raise ProducerUnavailable("sent responses to other requests")
