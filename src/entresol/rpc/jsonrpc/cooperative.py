"""Yield the GIL periodically from worker threads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from entresol.rpc.jsonrpc.offload import POLICY

T = TypeVar("T")


def cooperatively(items: Iterable[T]) -> Iterator[T]:
    """Yield `items`, and sleep briefly after each turn if no event loop runs on this thread.

    A thread that wants the GIL waits a whole switch interval for it, and longer if several want it: the event
    loop would serve no request meanwhile. A sleep hands it over at once. It has to be a real one: a thread that
    only releases the GIL takes it back before another wakes up.
    """
    if _is_on_loop():
        yield from items
        return
    end = time.perf_counter() + POLICY.turn_seconds
    for item in items:
        yield item
        if time.perf_counter() > end:
            time.sleep(POLICY.pause_seconds)
            end = time.perf_counter() + POLICY.turn_seconds


def _is_on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
