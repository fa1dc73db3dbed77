"""The processor time of another process."""

from __future__ import annotations

import time
from typing import Final

_PROCESS_CLOCK: Final = 2
"""What the id of a process's clock ends with on Linux: the time that it was scheduled."""


def cpu_seconds(pid: int) -> float:
    """Return how long a process has computed, in all its threads and in those that have ended."""
    return time.clock_gettime(~pid << 3 | _PROCESS_CLOCK)
