"""Letting others have the interpreter while a worker thread does long work in Python."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

TURN_SECONDS: Final = 0.0005
PAUSE_SECONDS: Final = 0.00002

T = TypeVar("T")


def cooperatively(items: Iterable[T]) -> Iterator[T]:
    """Yield `items`, and pause after each turn if no event loop runs on this thread.

    A thread that wants the interpreter waits a whole switch interval for it, and longer if several
    want it: the loop would answer nobody meanwhile. A pause hands it over at once. It has to be a
    real one: who only lets go takes it back before the other wakes up.
    """
    if _is_on_loop():
        yield from items
        return
    end = time.perf_counter() + TURN_SECONDS
    for item in items:
        yield item
        if time.perf_counter() > end:
            time.sleep(PAUSE_SECONDS)
            end = time.perf_counter() + TURN_SECONDS


def _is_on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
