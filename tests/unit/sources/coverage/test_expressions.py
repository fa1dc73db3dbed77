"""The branches within expressions."""

from __future__ import annotations

import pytest

from entresol.sources.coverage.expressions import branches_of
from entresol.sources.coverage.tokens import Tokens


def branches(text: str) -> list[str]:
    tokens = Tokens(text.encode())
    found = branches_of(tokens, 0, len(tokens))
    return [text[it.whole.start : it.whole.end] for it in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = b ? c : d", ["b ? c : d"]),
        ("b ? c ? 1 : 2 : d ? 3 : 4", ["b ? c ? 1 : 2 : d ? 3 : 4", "c ? 1 : 2", "d ? 3 : 4"]),
        ("f(a ? b : c, d)[e ? 1 : 0]", ["a ? b : c", "e ? 1 : 0"]),
        ("S({x: a ? b : c, y: d || e})", ["a ? b : c", "d || e"]),
    ],
)
def test_conditionals_have_two_ways_each(text: str, expected: list[str]) -> None:
    assert branches(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a && b && c", ["a && b", "a && b && c"]),
        ("a && b || c && d", ["a && b || c && d", "a && b", "c && d"]),
        ("!(a || b) && c", ["!(a || b) && c", "a || b"]),
        ("bool x = a || b", ["a || b"]),
        ("a || b ? c : d", ["a || b ? c : d", "a || b"]),
    ],
)
def test_operands_that_may_be_skipped_have_two_ways_each(text: str, expected: list[str]) -> None:
    assert branches(text) == expected


def test_checks_have_two_ways() -> None:
    assert branches("require(a, b)") == ["require(a, b)"]
    assert branches("assert(a || b)") == ["assert(a || b)", "a || b"]
    assert branches("other.require(a)") == branches("required(a)") == []
