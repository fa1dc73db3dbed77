"""Durations as Go writes them."""

from __future__ import annotations

import pytest

from entresol.errors import MalformedValue
from entresol.rpc.types.trace_request import GoDuration


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
