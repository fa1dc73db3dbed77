"""Types of traces, filters of frames, and durations as Go writes them."""

from __future__ import annotations

import pytest

from entresol.errors import InvalidParams, MalformedValue
from entresol.primitives.values import Address
from entresol.rpc.types.trace_request import GoDuration, TracedCall, TraceFilterObject, check_range


def test_a_filter_names_a_bounded_number_of_addresses() -> None:
    wanted = TraceFilterObject(from_address=[Address.zero()] * 1_001)
    with pytest.raises(MalformedValue, match="at most 1000 addresses"):
        wanted.options()


def test_a_range_has_300_blocks_at_most() -> None:
    check_range(5, 304)
    with pytest.raises(InvalidParams, match="limited to 300"):
        check_range(5, 305)


@pytest.mark.parametrize("value", [{}, [], [{}], [{}, ["trace"], 1]])
def test_a_traced_call_is_a_pair(value: object) -> None:
    with pytest.raises(MalformedValue, match="an array of a call and of types"):
        TracedCall.parse(value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5s", 5), ("1m30s", 90), ("300ms", 0.3), ("1.5h", 5_400), (".5s", 0.5), ("7us", 7e-6)],
)
def test_numbers_with_units_add_up(text: str, seconds: float) -> None:
    assert GoDuration.parse(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "-1s", "1d", 5, None, "1s" * 9])
def test_other_texts_are_rejected(text: object) -> None:
    with pytest.raises(MalformedValue, match="invalid duration"):
        GoDuration.parse(text)
