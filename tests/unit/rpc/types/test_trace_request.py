"""Parameters of the trace methods."""

from __future__ import annotations

import pytest

from entresol.errors import InvalidTraceRange, MalformedValue
from entresol.primitives.values import Address
from entresol.rpc.types.trace_request import TracedCall, TraceFilterObject, check_range


def test_a_filter_names_a_bounded_number_of_addresses() -> None:
    wanted = TraceFilterObject(from_address=[Address.zero()] * 1_001)
    with pytest.raises(MalformedValue, match="at most 1000 addresses"):
        wanted.options()


def test_a_range_has_300_blocks_at_most() -> None:
    check_range(5, 304)
    with pytest.raises(InvalidTraceRange, match="limited to 300"):
        check_range(5, 305)


@pytest.mark.parametrize("value", [{}, [], [{}], [{}, ["trace"], 1]])
def test_a_traced_call_is_a_pair(value: object) -> None:
    with pytest.raises(MalformedValue, match="an array of a call and of types"):
        TracedCall.parse(value)
