"""Run coroutines that never wait, without an event loop."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def completed(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never waits, as on a store that is its own journal."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise AssertionError("it waits for something")
