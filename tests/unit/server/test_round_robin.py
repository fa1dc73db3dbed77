"""The event loop is shared among backlogs in slices, and other callbacks run in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from time import perf_counter

import pytest

from entresol.server.round_robin import SLICE_SECONDS, TURN_SECONDS, RoundRobin

TURNS = 200


class Backlog:
    """A backlog of so many slices, each of which uses all of its time."""

    def __init__(self, slices: int, on_slice: Callable[[], object]) -> None:
        self._slices = slices
        self._on_slice = on_slice

    def serve_backlog(self, until: float) -> bool:
        while perf_counter() < until:
            pass
        self._on_slice()
        self._slices -= 1
        return self._slices > 0


async def turns_of(backlogs: RoundRobin) -> None:
    """Let the event loop take turns until nothing is left."""
    for _ in range(TURNS):
        await asyncio.sleep(0)
    assert len(backlogs) == 0


def test_backlogs_are_served_in_slices_one_after_another() -> None:
    served: list[str] = []

    async def serve() -> None:
        backlogs = RoundRobin()
        for name, slices in (("a", 3), ("b", 1), ("c", 2)):
            backlogs.add(Backlog(slices, partial(served.append, name)))
        await turns_of(backlogs)

    asyncio.run(serve())
    assert served == ["a", "b", "c", "a", "c", "a"]


def test_others_have_a_turn_long_before_the_backlogs_are_served() -> None:
    slices = 0

    def count() -> None:
        nonlocal slices
        slices += 1

    async def most_slices_in_a_turn() -> int:
        backlogs = RoundRobin()
        for _ in range(50):
            backlogs.add(Backlog(2, count))
        most = before = 0
        for _ in range(TURNS):
            await asyncio.sleep(0)
            most, before = max(most, slices - before), slices
        return most

    assert asyncio.run(most_slices_in_a_turn()) <= TURN_SECONDS / SLICE_SECONDS
    assert slices == 100


def test_a_backlog_that_fails_does_not_stop_the_others() -> None:
    served: list[str] = []
    failures: list[str] = []

    def fail() -> None:
        raise ValueError("no")

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: failures.append(context["message"]))
        backlogs = RoundRobin()
        backlogs.add(Backlog(1, fail))
        backlogs.add(Backlog(1, lambda: served.append("other")))
        await turns_of(backlogs)

    asyncio.run(serve())
    assert served == ["other"]
    assert len(failures) == 1


@pytest.mark.parametrize("times", [1, 2])
def test_a_backlog_can_be_added_again_once_it_was_served(times: int) -> None:
    served: list[int] = []

    async def serve() -> None:
        backlogs = RoundRobin()
        for number in range(times):
            backlogs.add(Backlog(1, partial(served.append, number)))
            await turns_of(backlogs)

    asyncio.run(serve())
    assert served == list(range(times))
