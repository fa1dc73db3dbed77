"""Requests that send transactions and have no line in the log yet; the lines of their transactions follow theirs."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARK: Final = b"_send"
"""What the body of a request that sends transactions contains: all such methods have it in their name."""

MAX_SECONDS: Final = 0.1
"""How long a block is held back: a sender may wait for another block, or for one that never comes."""


class OpenSends:
    """Orders the lines of a chain: a request that sent a transaction comes before the transaction.

    A block is sealed before its senders have their responses, and the line of a request has the time until then.

    Remembers: open requests, and what is held back for them. Persists: nothing. Assumes: one event loop. Fails: never.
    """

    def __init__(self) -> None:
        self._numbers = count()
        self._open: dict[int, None] = {}
        self._held: deque[tuple[int, Callable[[], None]]] = deque()

    @contextmanager
    def holding(self, body: bytes) -> Iterator[None]:
        """Hold back blocks until the request `body` is logged, if it sends transactions."""
        if MARK not in body:
            yield
            return
        number = next(self._numbers)
        self._open[number] = None
        try:
            yield
        finally:
            del self._open[number]
            if self._held:
                self._release(next(iter(self._open), next(self._numbers)))

    def after(self, write: Callable[[], None]) -> None:
        """Call `write` in a later turn of the event loop, once the requests that are open now are logged."""
        loop = asyncio.get_running_loop()
        if not self._open and not self._held:
            loop.call_soon(write)
            return
        last = next(self._numbers)
        self._held.append((last, write))
        loop.call_later(MAX_SECONDS, self._release, last + 1)

    def _release(self, first_open: int) -> None:
        """Write what is held back only for requests before `first_open`."""
        while self._held and self._held[0][0] < first_open:
            asyncio.get_running_loop().call_soon(self._held.popleft()[1])
