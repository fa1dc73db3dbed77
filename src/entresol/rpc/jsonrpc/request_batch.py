"""Batch requests: calls run in order and in slices, within a response limit."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from itertools import islice
from time import perf_counter
from typing import Any, Generic, TypeVar, cast

from entresol.offload import POLICY, started

Response = bytes | None | Awaitable[bytes | None]
"""A response, None for a notification, or an awaitable of either."""
_T = TypeVar("_T")


class DeferredResponse:
    """The response to a grouped call: `respond` makes it, once the result of the future is there.

    One task awaits those of a whole batch, where a task for each would take longer than the call.
    """

    __slots__ = ("_respond", "future")

    def __init__(self, future: asyncio.Future[Any], respond: Callable[[], bytes | None]) -> None:
        self.future = future
        self._respond = respond

    def now(self, flush: Callable[[], None]) -> Response:
        """Return the response if it is there after `flush`, else itself."""
        flush()
        return self._respond() if self.future.done() else self

    def __await__(self) -> Generator[Any, None, bytes | None]:
        # An error of the future becomes an error response.
        with suppress(Exception):
            yield from self.future
        return self._respond()


class StartableResponse:
    """The response to a grouped call that is a coroutine, of which no part needs a task.

    So it may be started where there is none, and all of it runs there if nothing suspends it.
    """

    __slots__ = ("_response",)

    def __init__(self, response: Coroutine[Any, Any, bytes | None]) -> None:
        self._response = response

    def now(self, flush: Callable[[], None]) -> Response:
        """Start it; return the response if it is there after `flush`, else what to await."""
        return started(self._response, flush)

    def __await__(self) -> Generator[Any, None, bytes | None]:
        return self._response.__await__()


class BatchTurns:
    """Lets batches go on after their first slice: one in a turn of the event loop, one after another.

    Without it each of a hundred clients would have a slice in every turn, and a new one, which needs some turns to be
    accepted and read, would wait for seconds.

    Remembers: who waits. Assumes: one event loop. Fails: never; who is cancelled is skipped.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_scheduled = False

    async def next(self) -> None:
        """Wait for a turn."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._schedule()
        await turn

    def _schedule(self) -> None:
        if self._waiting and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._admit)

    def _admit(self) -> None:
        self._is_scheduled = False
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                break
        self._schedule()


class RequestBatch(Generic[_T]):
    """The calls of one batch and their responses so far.

    Calls that respond at once run one after another, for a slice of time, before the event loop serves others; further
    slices are had in `turns` with other batches.
    The rest run concurrently, except that a call which is not grouped starts after the grouped ones before it: what
    reads the chain sees the transactions that the batch has sent. Calls that are `last` start after all others have
    their responses, wherever they stand. The responses stand as the calls do. Once they exceed `limit` bytes, no more
    calls start.
    """

    def __init__(
        self,
        items: list[_T],
        respond: Callable[[_T], Response],
        limit: int,
        is_grouped: Callable[[_T], bool] = lambda _item: False,
        is_last: Callable[[_T], bool] = lambda _item: False,
        turns: BatchTurns | None = None,
    ) -> None:
        self._items = items
        self._turns = turns or BatchTurns()
        self._is_grouped = is_grouped
        last = [index for index, item in enumerate(items) if is_last(item)]
        self._order = _with_last(len(items), last) if last else range(len(items))
        self._last_from = len(items) - len(last)
        self._started = 0
        self._group: list[tuple[int, DeferredResponse]] = []
        self._group_tasks: list[asyncio.Task[None]] = []
        self._waits = False
        self._respond = respond
        self._limit = limit
        self._responses: list[bytes | None] = [None] * len(items)
        self._tasks: list[asyncio.Task[None]] = []
        self._size = 0

    @property
    def too_large(self) -> bool:
        """Say whether the responses exceed the limit."""
        return self._size > self._limit

    def advance(self) -> bool:
        """Run calls for a slice of time; say whether all responses are there."""
        end = perf_counter() + POLICY.batch_seconds
        for index in islice(self._order, self._started, None):
            item = self._items[index]
            if (self._group or self._tasks) and self._must_wait(item):
                self._waits = True
                return False
            self._started += 1
            response = self._respond(item)
            if type(response) is bytes:
                self._responses[index] = response
                self._size += len(response)
            elif type(response) is DeferredResponse:
                self._group.append((index, response))
            elif response is not None:
                task = self._start_task(index, cast("Awaitable[bytes | None]", response))
                if self._is_grouped(item):
                    self._group_tasks.append(task)
            if self._size > self._limit or perf_counter() > end:
                break
        return self._all_started() and not self._tasks and not self._group

    async def finish(self) -> None:
        """Run the remaining calls, and wait for those that run concurrently."""
        try:
            while not self._all_started():
                if self._waits:
                    await self._finish_started()
                    self._waits = False
                else:
                    await self._turns.next()
                self.advance()
            await self._finish_group()
            for task in self._tasks:
                if not self.too_large:
                    await task
        finally:
            for _, deferred in self._group:
                deferred.future.cancel()
            for task in self._tasks:
                task.cancel()

    def joined(self) -> bytes | None:
        """Return the response to the batch; None if all calls were notifications."""
        responses = [response for response in self._responses if response is not None]
        return b"[" + b",".join(responses) + b"]" if responses else None

    def _must_wait(self, item: _T) -> bool:
        """Say whether a call starts only after others that have no response yet."""
        if self._started >= self._last_from and self._tasks:
            return True
        return bool(self._group or self._group_tasks) and not self._is_grouped(item)

    def _all_started(self) -> bool:
        return self._started == len(self._items) or self.too_large

    def _start_task(self, index: int, response: Awaitable[bytes | None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(self._complete(index, response))
        self._tasks.append(task)
        return task

    async def _finish_started(self) -> None:
        """Wait for what the next call starts after: the grouped calls so far, or all."""
        await self._finish_group()
        if self._started >= self._last_from and self._tasks:
            await asyncio.wait(self._tasks)
            self._tasks = []

    async def _finish_group(self) -> None:
        for index, deferred in self._group:
            self._put(index, await deferred)
        self._group = []
        if self._group_tasks:
            await asyncio.wait(self._group_tasks)
            self._group_tasks = []

    async def _complete(self, index: int, awaitable: Awaitable[bytes | None]) -> None:
        self._put(index, await awaitable)

    def _put(self, index: int, response: bytes | None) -> None:
        if not self.too_large:
            self._responses[index] = response
            self._size += len(response or b"")


def _with_last(count: int, last: list[int]) -> list[int]:
    is_last = set(last)
    return [*(index for index in range(count) if index not in is_last), *last]
