"""Answering a batch: in order, in slices, and within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import islice
from time import perf_counter
from typing import Generic, TypeVar, cast

from entresol.rpc.jsonrpc.offload import POLICY

Answer = bytes | None | Awaitable[bytes | None]
_T = TypeVar("_T")


class RequestBatch(Generic[_T]):
    """The calls of one batch on their way.

    Calls that are answered at once run one after another, for a slice of time, before the event loop gets
    its turn. The others run beside each other. Once the answers are longer than `limit`, no more calls start.
    """

    def __init__(self, items: list[_T], answer: Callable[[_T], Answer], limit: int) -> None:
        self._items = items
        self._answer = answer
        self._limit = limit
        self._answers: list[bytes | None] = []
        self._pending: list[asyncio.Task[None]] = []
        self._size = 0

    @property
    def too_large(self) -> bool:
        """Say whether the answers are longer than allowed."""
        return self._size > self._limit

    def advance(self) -> bool:
        """Answer calls for a slice of time; say whether there are answers to all of them."""
        end = perf_counter() + POLICY.batch_seconds
        for item in islice(self._items, len(self._answers), None):
            answer = self._answer(item)
            if type(answer) is bytes:
                self._answers.append(answer)
                self._size += len(answer)
            elif answer is None:
                self._answers.append(None)
            else:
                self._postpone(cast("Awaitable[bytes | None]", answer))
            if self._size > self._limit or perf_counter() > end:
                break
        return self._done() and not self._pending

    async def finish(self) -> None:
        """Wait for the answers that `advance` could not give."""
        try:
            while not self._done():
                await asyncio.sleep(0)
                self.advance()
            for task in self._pending:
                if not self.too_large:
                    await task
        finally:
            for task in self._pending:
                task.cancel()

    def joined(self) -> bytes | None:
        """Return the answer to the whole batch, which is none if all calls were notifications."""
        answers = [answer for answer in self._answers if answer is not None]
        return b"[" + b",".join(answers) + b"]" if answers else None

    def _done(self) -> bool:
        return len(self._answers) == len(self._items) or self.too_large

    def _postpone(self, answer: Awaitable[bytes | None]) -> None:
        index = len(self._answers)
        self._answers.append(None)
        self._pending.append(asyncio.ensure_future(self._later(index, answer)))

    async def _later(self, index: int, awaitable: Awaitable[bytes | None]) -> None:
        answer = await awaitable
        if not self.too_large:
            self._answers[index] = answer
            self._size += len(answer or b"")
