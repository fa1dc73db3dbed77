"""Settings of the garbage collector for a process that starts, and for one that has started."""

from __future__ import annotations

import gc
from typing import Final

THRESHOLDS: Final = (10_000, 5, 80)
"""Objects between two collections, and collections between those of older objects.

With the defaults a flood of transactions spends a tenth of its time on objects that are all in use. A collection holds
all threads, so one of the middle generation visits at most 50,000 objects, of which a long request makes several times
as many.
"""


START_THRESHOLDS: Final = (100_000, 5, 80)
"""More objects than a start makes: nearly all of them stay, so that collections took a sixth of it and found nothing."""


def collect_rarely() -> None:
    """Let a process start without a collection; call this before anything else is imported."""
    gc.set_threshold(*START_THRESHOLDS)


def collect_less() -> None:
    """Exempt what exists now from collections, and let them be rarer.

    What is garbage by now, a few dozen objects of 60,000, stays for ever: finding it takes longer than all that was saved.
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
