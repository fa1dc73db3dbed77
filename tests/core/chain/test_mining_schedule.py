"""When a chain seals by itself."""

from __future__ import annotations

import pytest

from entresol.chain.mining_schedule import MiningMode, MiningSchedule
from entresol.errors import InvalidParams


def test_automine_is_the_default() -> None:
    schedule = MiningSchedule()
    assert schedule.mode is MiningMode.AUTO
    assert not schedule.is_due(10**9)


def test_blocks_of_an_interval_are_due_one_after_the_other() -> None:
    schedule = MiningSchedule()
    schedule.seal_every(2.0, now=100.0)
    due = [now for now in (100.0, 101.9, 102.0, 102.1, 103.9, 104.0) if schedule.is_due(now)]
    assert due == [102.0, 104.0]


def test_a_late_tick_seals_one_block() -> None:
    schedule = MiningSchedule()
    schedule.seal_every(1.0, now=0.0)
    assert schedule.is_due(50.0)
    assert schedule.is_due(50.5)
    assert not schedule.is_due(50.9)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_an_interval_is_a_positive_time(seconds: float) -> None:
    with pytest.raises(InvalidParams, match="an interval is a positive number of"):
        MiningSchedule().seal_every(seconds, now=0.0)


def test_a_transaction_is_sealed_after_the_delay() -> None:
    schedule = MiningSchedule()
    schedule.seal_after(0.5)
    moments = [(9, False), (10, True), (10.25, True), (10.5, True), (11, True), (11.5, True)]
    due = [now for now, has_work in moments if schedule.is_due(now, has_work=has_work)]
    assert due == [10.5, 11.5]


def test_a_delay_restarts_with_the_next_pending_transaction() -> None:
    schedule = MiningSchedule()
    schedule.seal_after(0.5)
    assert not schedule.is_due(10.0, has_work=True)
    assert not schedule.is_due(10.25, has_work=False)
    assert not schedule.is_due(10.5, has_work=True)
    assert schedule.is_due(11.0, has_work=True)


def test_a_random_interval_is_between_the_shortest_and_the_longest() -> None:
    schedule = MiningSchedule()
    schedule.seal_every(10.0, now=100.0, longest=20.0)
    assert not schedule.is_due(109.9)
    assert schedule.is_due(120.0)


def test_a_restored_mode_has_its_times_and_a_timer_that_starts_anew() -> None:
    schedule = MiningSchedule()
    schedule.seal_every(2, now=0, longest=3)
    state = schedule.state
    schedule.seal_on_request()
    schedule.restore(state, now=100)
    assert schedule.state == state
    assert not schedule.is_due(101.9)
    assert schedule.is_due(103.1)


def test_restoring_the_mode_that_there_is_leaves_its_timer_alone() -> None:
    schedule = MiningSchedule()
    schedule.seal_every(2, now=0)
    schedule.restore(schedule.state, now=1.9)
    assert schedule.is_due(2.1)
