"""Settings of the garbage collector: how long a collection holds all threads."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any

import pytest

from entresol.node.startup.garbage_collector import collect_less
from entresol.primitives.values import Hash32

MAX_SECONDS = 0.02
"""Of one collection of objects that a request has made: a quarter of that on a slow machine."""
WORDS = 230_000
"""As many as fit into a body."""


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def test_no_collection_visits_all_values_of_a_long_request() -> None:
    collect_less()
    longest = started = 0.0

    def measure(phase: str, info: dict[str, Any]) -> None:
        nonlocal longest, started
        if phase == "start":
            started = time.thread_time()
        elif info["generation"] < 2:
            longest = max(longest, time.thread_time() - started)

    gc.callbacks.append(measure)
    try:
        words = [Hash32(bytes(32)) for _ in range(WORDS)]
    finally:
        gc.callbacks.remove(measure)
    assert len(words) == WORDS
    assert longest < MAX_SECONDS
