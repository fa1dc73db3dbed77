"""Arguments as tests expect them."""

from __future__ import annotations

from typing import Any

import pytest
from hexbytes import HexBytes

from entresol.testing.arguments import call_text, differences, is_same

ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        (5, 5, True),
        (5, 6, False),
        (ADDRESS.lower(), ADDRESS, True),
        ("text", "Text", False),
        (b"\x01", HexBytes("0x01"), True),
        ("0x01", b"\x01", True),
        ("0x02", b"\x01", False),
        ([1, ADDRESS], (1, ADDRESS.lower()), True),
        ([1], (1, 2), False),
        pytest.param(lambda it: it > 3, 4, True, id="a condition that holds"),
        pytest.param(lambda it: it > 3, 3, False, id="a condition that does not"),
    ],
    ids=str,
)
def test_values_are_compared_as_people_write_them(expected: Any, actual: Any, same: bool) -> None:
    assert is_same(expected, actual) is same


def test_differences_name_the_argument() -> None:
    assert differences({"a": 1, "b": b"\x01"}, {"a": 2, "b": b"\x02", "c": 3}) == [
        "a is 2, expected 1",
        "b is 0x02, expected 0x01",
    ]


def test_a_call_is_shown_with_its_arguments() -> None:
    assert call_text("Sent", {"to": "x", "value": abs}) == "Sent(to='x', value=abs)"
