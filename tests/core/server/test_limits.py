"""Bounds of memory, requests a second and turns."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from functools import partial
from time import perf_counter

import pytest

from entresol.server import limits
from entresol.server.limits import (
    CHECKS_PER_LIMIT,
    LONG_BYTES,
    SLICE_SECONDS,
    TURN_SECONDS,
    HeldBytes,
    RequestBytes,
    RequestRate,
    RoundRobin,
    UnsentBytes,
)

HELD_LIMIT = 10 * LONG_BYTES

LIMIT = 6_400

TURNS = 200


class Holder:
    """What holds the bytes of a request, and itself."""

    def __init__(self, held: HeldBytes) -> None:
        self.held = held
        self.itself = self


def test_bytes_count_until_nothing_refers_to_them() -> None:
    requests = RequestBytes(HELD_LIMIT)
    held = requests.hold(LONG_BYTES)
    assert held is not None
    assert held.grow(LONG_BYTES)
    assert requests.used == 2 * LONG_BYTES
    del held
    assert requests.used == 0


def test_a_request_without_room_is_rejected_and_counts_for_nothing() -> None:
    requests = RequestBytes(HELD_LIMIT)
    first = requests.hold(HELD_LIMIT)
    assert requests.hold(1) is None
    assert (requests.used, requests.rejected) == (HELD_LIMIT, 1)
    del first
    assert requests.hold(1) is not None


def test_what_a_cycle_holds_is_collected_before_a_request_is_rejected() -> None:
    requests = RequestBytes(HELD_LIMIT)
    gc.disable()
    try:
        held = requests.hold(HELD_LIMIT)
        assert held is not None
        Holder(held)
        del held
        assert requests.used == HELD_LIMIT
        assert requests.hold(HELD_LIMIT) is not None
    finally:
        gc.enable()
    assert requests.rejected == 0


def test_garbage_is_collected_after_so_many_bytes_however_few_objects_they_are() -> None:
    requests = RequestBytes(2 * limits.COLLECT_BYTES)
    gc.disable()
    try:
        held = requests.hold(limits.COLLECT_BYTES)
        assert held is not None
        Holder(held)
        del held
        assert requests.uncollected == limits.COLLECT_BYTES
        assert requests.hold(1) is not None
    finally:
        gc.enable()
    assert (requests.used, requests.uncollected) == (0, 0)


class Connection:
    """A connection with so many unsent bytes."""

    def __init__(self, unsent: int) -> None:
        self.unsent = unsent
        self.dropped = False

    def drop(self) -> None:
        self.dropped = True
        self.unsent = 0


def test_the_greediest_are_dropped_until_the_rest_is_within_the_limit() -> None:
    connections = [Connection(size) for size in (1_000, 4_000, 2_000, 3_000)]
    unsent = UnsentBytes(LIMIT, connections)
    unsent.sweep(10_000)
    assert [connection.dropped for connection in connections] == [False, True, False, False]
    assert (unsent.total, unsent.dropped) == (6_000, 1)


def test_a_client_that_does_not_read_is_dropped_before_a_greedier_one_that_reads() -> None:
    reading, stalled, idle = Connection(5_000), Connection(1_000), Connection(0)
    unsent = UnsentBytes(LIMIT, [reading, stalled, idle])
    unsent.sweep(6_000)
    reading.unsent, stalled.unsent, idle.unsent = 4_500, 1_200, 1_000
    unsent.sweep(7_000)
    assert [reading.dropped, stalled.dropped, idle.dropped] == [False, True, False]


@pytest.mark.parametrize("unsent_bytes", [0, LIMIT // 2, LIMIT])
def test_a_check_is_due_before_the_limit_can_be_exceeded_by_much(unsent_bytes: int) -> None:
    unsent = UnsentBytes(LIMIT, [Connection(unsent_bytes)])
    unsent.sweep(10_000)
    room = unsent.check_at - 10_000
    assert room >= LIMIT // CHECKS_PER_LIMIT
    assert unsent_bytes + room <= LIMIT + LIMIT // CHECKS_PER_LIMIT


async def test_a_check_runs_in_the_next_turn_and_once() -> None:
    connection = Connection(2 * LIMIT)
    unsent = UnsentBytes(LIMIT, [connection])
    unsent.schedule_check(2 * LIMIT)
    assert (connection.dropped, unsent.check_at) == (False, float("inf"))
    await asyncio.sleep(0)
    assert connection.dropped
    assert (unsent.total, unsent.dropped, unsent.check_at) == (0, 1, 3 * LIMIT)


def test_a_rate_allows_a_burst_of_one_second() -> None:
    rate = RequestRate(4.0, now=0.0)
    assert [rate.allows(0.0) for _ in range(5)] == [True] * 4 + [False]
    assert rate.allows(0.25)
    assert not rate.allows(0.25)
    assert [rate.allows(100.0) for _ in range(5)] == [True] * 4 + [False]


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


async def test_backlogs_are_served_in_slices_one_after_another() -> None:
    served: list[str] = []
    backlogs = RoundRobin()
    for name, slices in (("a", 3), ("b", 1), ("c", 2)):
        backlogs.add(Backlog(slices, partial(served.append, name)).serve_backlog)
    await turns_of(backlogs)
    assert served == ["a", "b", "c", "a", "c", "a"]


async def test_others_have_a_turn_long_before_the_backlogs_are_served() -> None:
    slices = 0

    def count() -> None:
        nonlocal slices
        slices += 1

    backlogs = RoundRobin()
    for _ in range(50):
        backlogs.add(Backlog(2, count).serve_backlog)
    most = before = 0
    for _ in range(TURNS):
        await asyncio.sleep(0)
        most, before = max(most, slices - before), slices
    assert most <= TURN_SECONDS / SLICE_SECONDS
    assert slices == 100


async def test_a_backlog_that_fails_does_not_stop_the_others() -> None:
    served: list[str] = []
    failures: list[str] = []

    def fail() -> None:
        raise ValueError("no")

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: failures.append(context["message"]))
    backlogs = RoundRobin()
    backlogs.add(Backlog(1, fail).serve_backlog)
    backlogs.add(Backlog(1, lambda: served.append("other")).serve_backlog)
    await turns_of(backlogs)
    assert served == ["other"]
    assert len(failures) == 1
