"""The time of a chain."""

from __future__ import annotations

import pytest

from entresol.chain.clock import LATEST, Clock
from entresol.errors import InvalidParams


class Wall:
    """A wall clock that is stopped until it is set."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


def test_a_block_has_the_time_of_the_wall() -> None:
    assert Clock(Wall(1_000.9)).next_timestamp(parent=10) == 1_000


def test_a_block_is_always_later_than_its_parent() -> None:
    clock = Clock(Wall(1_000))
    assert clock.next_timestamp(parent=1_000) == 1_001
    assert clock.next_timestamp(parent=5_000) == 5_001


def test_an_ordered_time_is_that_of_one_block_and_time_goes_on_from_it() -> None:
    wall = Wall(1_000)
    clock = Clock(wall)
    clock.set_next_timestamp(9_000, parent=500)
    assert clock.next_timestamp(parent=500) == 9_000
    clock.on_sealed(9_000)
    wall.seconds += 5
    assert clock.next_timestamp(parent=9_000) == 9_005


def test_an_earlier_time_cannot_be_ordered() -> None:
    with pytest.raises(InvalidParams, match="499 is lower than previous block's timestamp"):
        Clock(Wall(0)).set_next_timestamp(499, parent=500)


def test_a_block_that_is_ordered_for_its_parents_time_comes_a_second_later() -> None:
    clock = Clock(Wall(0))
    clock.set_next_timestamp(500, parent=500)
    assert clock.next_timestamp(parent=500) == 501


def test_time_moves_on_from_a_head_that_is_ahead() -> None:
    clock = Clock(Wall(1_000))
    assert clock.increase(60, parent=1_020) == 80
    assert clock.next_timestamp(parent=1_020) == 1_080


def test_blocks_have_an_interval_until_it_is_removed() -> None:
    clock = Clock(Wall(1_000))
    clock.set_interval(7)
    assert clock.next_timestamp(parent=500) == 507
    clock.set_next_timestamp(600, parent=500)
    assert clock.next_timestamp(parent=500) == 600
    clock.on_sealed(600)
    assert clock.next_timestamp(parent=600) == 607
    clock.set_interval(None)
    assert clock.next_timestamp(parent=607) == 607 + 1


def test_time_never_runs_out_for_the_blocks_that_follow() -> None:
    clock = Clock(Wall(1_000))
    with pytest.raises(InvalidParams, match="and at most 9223372036854775807"):
        clock.increase(LATEST - 999)
    with pytest.raises(InvalidParams, match="The timestamp is too big:"):
        clock.set_time(LATEST + 1)
    with pytest.raises(InvalidParams, match="The timestamp is too big:"):
        clock.set_next_timestamp(LATEST + 1, parent=0)
    assert clock.now() == 1_000
    clock.set_next_timestamp(LATEST, parent=0)
    clock.on_sealed(LATEST)
    assert clock.next_timestamp(parent=LATEST) == LATEST + 1


def test_a_clock_that_restarts_forgets_what_was_set_after_telling_of_the_change() -> None:
    clock = Clock(Wall(1_000))
    clock.increase(60)
    seen = list[int]()
    clock.before_change(lambda: seen.append(clock.now()))
    clock.restart(Wall(5_000))
    assert (seen, clock.now()) == ([1_060], 5_000)


def test_clocks_that_move_together_have_one_time_and_blocks_of_their_own() -> None:
    wall = Wall(1_000)
    first, second = Clock(wall), Clock(wall)
    first.move_with(second)
    second.move_with(first)
    changed: list[int] = []
    second.before_change(lambda: changed.append(second.now()))
    first.increase(60)
    assert (first.now(), second.now(), changed) == (1_060, 1_060, [1_000])
    second.set_time(5_000)
    assert (first.now(), second.now()) == (5_000, 5_000)
    first.set_next_timestamp(6_000, parent=10)
    assert (first.next_timestamp(10), second.next_timestamp(10)) == (6_000, 5_000)
    first.on_sealed(6_000)
    assert second.next_timestamp(10) == 6_000
