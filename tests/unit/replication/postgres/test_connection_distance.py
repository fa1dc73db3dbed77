"""What is unusual between a node and its database."""

from __future__ import annotations

import time

import pytest

from entresol.replication.postgres.connection import DatabaseDistance


@pytest.mark.parametrize(
    ("skew", "round_trip", "problem"),
    [
        (0.1, 0.01, None),
        (3_600.0, 0.01, "the clock of this node is 3600.0 s ahead of the database's"),
        (-3_600.0, 0.5, "the clock of this node is 3600.0 s behind the database's"),
        (0.1, 0.5, "a round trip to the database takes 500 ms, so blocks are slow"),
    ],
)
def test_a_wrong_clock_and_a_long_way_are_reported(
    skew: float, round_trip: float, problem: str | None
) -> None:
    assert DatabaseDistance(skew, round_trip).problem == problem


def test_clocks_are_compared_at_the_middle_of_a_round_trip() -> None:
    now = time.time()
    distance = DatabaseDistance.since(now - 1.0, clock=now - 3_600.5)
    assert distance.skew_seconds == pytest.approx(3_600.0, abs=0.5)
    assert distance.round_trip_seconds == pytest.approx(1.0, abs=0.5)
