"""Workers that give no sign of life are found, unless their producer stood still as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from entresol.features.workers.watchdog import STARTING, STOPPED, Watchdog

LIMIT = 3.0
START_LIMIT = 20.0


def checked(
    watchdog: Watchdog[int], times: Iterable[float], heartbeats: Mapping[int, int]
) -> list[int]:
    return [index for now in times for index in watchdog.check(heartbeats, now)]


def test_a_worker_that_is_silent_for_the_whole_time_is_found_once() -> None:
    watchdog = Watchdog[int](LIMIT, START_LIMIT)
    assert checked(watchdog, range(3), {0: 7, 1: 7}) == []
    assert watchdog.check({0: 8, 1: 7}, 3.0) == [1]
    assert watchdog.check({0: 9, 1: 7}, 4.0) == []


def test_a_worker_that_hangs_while_it_starts_is_found_after_a_longer_time() -> None:
    watchdog = Watchdog[int](LIMIT, START_LIMIT)
    assert checked(watchdog, range(20), {0: 0}) == []
    assert watchdog.silent == 0
    assert watchdog.check({0: 0}, 20.0) == [0]


def test_a_worker_that_is_stopped_at_its_start_is_found_as_any_other() -> None:
    watchdog = Watchdog[int](LIMIT, START_LIMIT)
    assert checked(watchdog, range(3), {0: STARTING}) == []
    assert checked(watchdog, range(3, 6), {0: STOPPED}) == []
    assert watchdog.check({0: STOPPED}, 6.0) == [0]


def test_a_pause_of_the_whole_machine_counts_for_no_worker() -> None:
    watchdog = Watchdog[int](LIMIT, START_LIMIT)
    assert checked(watchdog, (0, 1, 2, 3_600, 7_200), {0: 7, 1: 7}) == []


def test_a_producer_that_is_slow_itself_finds_nobody() -> None:
    watchdog = Watchdog[int](LIMIT, START_LIMIT)
    assert checked(watchdog, (it * 2.5 for it in range(100)), {0: 7}) == []
