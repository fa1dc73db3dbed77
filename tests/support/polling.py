"""Poll until another process, a thread or a chain has done something."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

PATIENCE_SECONDS: Final = 120.0
"""Far longer than anything takes, even on a busy machine."""

POLL_SECONDS: Final = 0.01


def eventually(condition: Callable[[], T | None], describe: Callable[[], str] = str) -> T:
    """Return the first true result of `condition`; if there is none in time, fail with what `describe` returns."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (result := condition()):
        assert time.monotonic() < deadline, f"it never happened {describe()}"
        time.sleep(POLL_SECONDS)
    return result


async def eventually_on_loop(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        await asyncio.sleep(POLL_SECONDS)
