"""Settings of the garbage collector for a process that has started."""

from __future__ import annotations

import gc
from typing import Final

THRESHOLDS: Final = (10_000, 5, 80)
"""Objects between two collections, and collections between those of older objects.

With the defaults a flood of transactions spends a tenth of its time on objects that are all in use. A collection holds
all threads, so one of the middle generation visits at most 50,000 objects, of which a long request makes several times
as many.
"""


def collect_less() -> None:
    """Exempt what exists now from collections, and let them be rarer."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
