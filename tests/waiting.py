"""Waiting for what others do: another process, a thread, a chain."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

PATIENCE_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.01


def eventually(look: Callable[[], T | None]) -> T:
    """Return what `look` sees as soon as it sees something."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (seen := look()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(POLL_SECONDS)
    return seen
