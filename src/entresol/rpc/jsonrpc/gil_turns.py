"""Yield the GIL periodically from threads, and stop once a response is too long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from entresol.offload import POLICY
from entresol.rpc.jsonrpc.errors import ResponseSizeError
from entresol.rpc.threads.client_threads import check_cancelled

T = TypeVar("T")


def cooperatively(items: Iterable[T]) -> Iterator[T]:
    """Yield `items`, and sleep briefly after each turn if no event loop runs on this thread.

    A thread that wants the GIL waits a whole switch interval for it, and longer if several want it: the event
    loop would serve no request meanwhile. A sleep hands it over at once. It has to be a real one: a thread that
    only releases the GIL takes it back before another wakes up. Work that was cancelled ends there, too.
    """
    if _is_on_loop():
        yield from items
        return
    end = time.perf_counter() + POLICY.turn_seconds
    for item in items:
        yield item
        if time.perf_counter() > end:
            time.sleep(POLICY.pause_seconds)
            check_cancelled()
            end = time.perf_counter() + POLICY.turn_seconds


def within_limit(parts: Iterable[T], max_bytes: int, size_of: Callable[[T], int]) -> Iterator[T]:
    """Yield the parts of a response cooperatively; raise `ResponseSizeError` once they are too long together.

    A response that is too long is rejected anyway. Rendering all of it first would take its time and memory.
    """
    left = max_bytes
    for part in cooperatively(parts):
        left -= size_of(part)
        if left < 0:
            raise ResponseSizeError(max_bytes)
        yield part


def _is_on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
