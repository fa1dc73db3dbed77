from __future__ import annotations

import pytest

from benchmarks.harness import Peer, Row, Target, best_seconds, table


def test_the_table_is_aligned_and_judges() -> None:
    rows = [
        Row(
            what="call", value=4.4, unit="µs", peer=Peer("anvil", 8.8), target=Target(15, "at most")
        ),
        Row(what="transfers", value=12_345.6, unit="/s", target=Target(15_000, "at least")),
        Row(what="fraction", value=0.01234, unit="s", note="once"),
    ]
    assert table(rows).splitlines() == [
        "what        value  unit  peer          ratio  target                   note",
        "call         4.40  µs    8.80 (anvil)  0.50x  at most 15.0     held",
        "transfers  12,346  /s                         at least 15,000  MISSED",
        "fraction   0.0123  s                                                   once",
    ]


@pytest.mark.parametrize(
    ("target", "value", "held"),
    [
        (Target(10, "at most"), 10, True),
        (Target(10, "at most"), 10.1, False),
        (Target(10, "at least"), 10, True),
        (Target(10, "at least"), 9.9, False),
    ],
)
def test_a_bound_belongs_to_its_target(target: Target, value: float, held: bool) -> None:
    assert target.held_by(value) is held


def test_timing_counts_the_calls_it_makes() -> None:
    made: list[None] = []
    assert best_seconds(lambda: made.append(None), calls=3) > 0
    assert len(made) == 15
