"""Waiting for what others do: another process, a thread, a chain."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

PATIENCE_SECONDS: Final = 120.0
"""Far longer than anything takes, even on a machine that has other things to do."""

POLL_SECONDS: Final = 0.01


def eventually(look: Callable[[], T | None], told: Callable[[], str] = str) -> T:
    """Return what `look` sees as soon as it sees something; if it never does, say what was `told` instead."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (seen := look()):
        assert time.monotonic() < deadline, f"it never happened {told()}"
        time.sleep(POLL_SECONDS)
    return seen
