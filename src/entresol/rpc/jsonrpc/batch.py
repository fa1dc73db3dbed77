"""Batch requests: calls run in order and in slices, within a response limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import islice
from time import perf_counter
from typing import Generic, TypeVar, cast

from entresol.rpc.jsonrpc.offload import POLICY

Response = bytes | None | Awaitable[bytes | None]
"""A response, None for a notification, or an awaitable of either."""
_T = TypeVar("_T")


class RequestBatch(Generic[_T]):
    """The calls of one batch and their responses so far.

    Calls that respond at once run one after another, for a slice of time, before the event loop serves others.
    The rest run concurrently, except that a call which is not grouped starts after the grouped ones before it: what
    reads the chain sees the transactions that the batch has sent. Once the responses exceed `limit` bytes, no more
    calls start.
    """

    def __init__(
        self,
        items: list[_T],
        respond: Callable[[_T], Response],
        limit: int,
        is_grouped: Callable[[_T], bool] = lambda _item: False,
    ) -> None:
        self._items = items
        self._is_grouped = is_grouped
        self._group: list[asyncio.Task[None]] = []
        self._waits = False
        self._respond = respond
        self._limit = limit
        self._responses: list[bytes | None] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._size = 0

    @property
    def too_large(self) -> bool:
        """Say whether the responses exceed the limit."""
        return self._size > self._limit

    def advance(self) -> bool:
        """Run calls for a slice of time; say whether all responses are there."""
        end = perf_counter() + POLICY.batch_seconds
        for item in islice(self._items, len(self._responses), None):
            if self._group and not self._is_grouped(item):
                self._waits = True
                return False
            response = self._respond(item)
            if type(response) is bytes:
                self._responses.append(response)
                self._size += len(response)
            elif response is None:
                self._responses.append(None)
            else:
                task = self._start_task(cast("Awaitable[bytes | None]", response))
                if self._is_grouped(item):
                    self._group.append(task)
            if self._size > self._limit or perf_counter() > end:
                break
        return self._all_started() and not self._tasks

    async def finish(self) -> None:
        """Run the remaining calls, and wait for those that run concurrently."""
        try:
            while not self._all_started():
                if self._waits:
                    await asyncio.wait(self._group)
                    self._group, self._waits = [], False
                else:
                    await asyncio.sleep(0)
                self.advance()
            for task in self._tasks:
                if not self.too_large:
                    await task
        finally:
            for task in self._tasks:
                task.cancel()

    def joined(self) -> bytes | None:
        """Return the response to the batch; None if all calls were notifications."""
        responses = [response for response in self._responses if response is not None]
        return b"[" + b",".join(responses) + b"]" if responses else None

    def _all_started(self) -> bool:
        return len(self._responses) == len(self._items) or self.too_large

    def _start_task(self, response: Awaitable[bytes | None]) -> asyncio.Task[None]:
        index = len(self._responses)
        self._responses.append(None)
        task = asyncio.ensure_future(self._complete(index, response))
        self._tasks.append(task)
        return task

    async def _complete(self, index: int, awaitable: Awaitable[bytes | None]) -> None:
        response = await awaitable
        if not self.too_large:
            self._responses[index] = response
            self._size += len(response or b"")
