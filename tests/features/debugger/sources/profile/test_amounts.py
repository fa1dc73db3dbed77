"""Amounts of gas."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from entresol.features.debugger.sources.profile.amounts import MAX_DISTINCT, amounts_of


def test_number_sum_least_most_average_and_median_are_known() -> None:
    amounts = amounts_of([(30, 1), (10, 2), (50, 1)])
    assert (amounts.count, amounts.total, amounts.least, amounts.most) == (4, 100, 10, 50)
    assert (amounts.average, amounts.median) == (25, 20)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 3))), st.integers(0, 20))
def test_parts_that_are_merged_are_the_whole(values: list[tuple[int, int]], cut: int) -> None:
    merged = amounts_of(values[:cut])
    merged.merge(amounts_of(values[cut:]))
    assert merged == amounts_of(values)


@given(st.lists(st.integers(0, 1 << 40), min_size=1))
def test_the_median_is_that_of_all_amounts_while_they_are_few(values: list[int]) -> None:
    ordered, middle = sorted(values), len(values) // 2
    median = (ordered[(len(values) - 1) // 2] + ordered[middle]) // 2
    assert amounts_of((value, 1) for value in values).median == median


def test_of_many_amounts_the_median_is_near_and_the_rest_exact() -> None:
    count = 10 * MAX_DISTINCT
    amounts = amounts_of((21_000 + it, 1) for it in range(count))
    assert len(amounts.distinct) <= MAX_DISTINCT
    assert (amounts.least, amounts.most, amounts.count) == (21_000, 21_000 + count - 1, count)
    assert abs(amounts.median - (21_000 + count // 2)) <= amounts.width
