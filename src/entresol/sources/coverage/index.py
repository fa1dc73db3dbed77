"""Finds the parts of a source that a span of a source map belongs to."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from entresol.sources.coverage.parts import SELECTION, Range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.sources.coverage.parts import SourceParts


class PartsIndex:
    """The parts of a source by their places; each part has a number, its place in the list of its kind."""

    def __init__(self, parts: SourceParts) -> None:
        self.parts = parts
        self._functions = [function.whole for function in parts.functions]
        self._statements = [statement.evaluated for statement in parts.statements]
        jumps = [(number, it) for number, it in enumerate(parts.branches) if it.kind != SELECTION]
        selections = [(n, it) for n, it in enumerate(parts.branches) if it.kind == SELECTION]
        self._wholes = {it.whole: number for number, it in jumps}
        self._conditions = {
            it.condition: number
            for number, it in jumps
            if it.condition is not None and it.condition not in self._wholes
        }
        self._selections = {it.whole: number for number, it in selections}
        self._arms = [
            (arm, number, place)
            for number, it in selections
            for place, arm in enumerate(it.arms)
            if arm is not None
        ]

    def function(self, span: Range) -> int | None:
        """Return the function that a span is in."""
        return _containing(self._functions, span)

    def statement(self, span: Range) -> int | None:
        """Return the statement that a span is evaluated in."""
        return _containing(self._statements, span)

    def branch(self, span: Range) -> int | None:
        """Return the branch that the jump of a span decides."""
        return self._wholes.get(span)

    def branch_of_condition(self, span: Range) -> int | None:
        """Return the branch whose condition a span is; code that was made by way of Yul has jumps there."""
        return self._conditions.get(span)

    def selection(self, span: Range) -> int | None:
        """Return the `try` that a span is all of."""
        return self._selections.get(span)

    def arms(self, span: Range) -> list[tuple[int, int]]:
        """Return the selections that a span is in, and in which clause of each."""
        return [(number, place) for arm, number, place in self._arms if arm.contains(*span)]


def _containing(ranges: Sequence[Range], span: Range) -> int | None:
    """Return which of some parts that do not overlap contains a span."""
    number = bisect_right(ranges, span.start, key=lambda it: it.start) - 1
    return number if number >= 0 and ranges[number].contains(*span) else None
