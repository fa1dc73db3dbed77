"""The parts of a source that can be executed: its functions, statements and branches."""

from __future__ import annotations

from typing import NamedTuple

IF = "if"
LOOP = "loop"
DO = "do"
CHECK = "check"
CONDITIONAL = "conditional"
SHORT_CIRCUIT = "short circuit"
SELECTION = "selection"


class Range(NamedTuple):
    """A part of a text, in bytes."""

    start: int
    end: int

    def contains(self, start: int, end: int) -> bool:
        """Return whether a part is inside."""
        return self.start <= start and end <= self.end


class FunctionPart(NamedTuple):
    """A function, or a modifier, that has a body."""

    name: str
    """With the contract that it is part of: `Token.transfer`."""
    whole: Range
    body: Range


class StatementPart(NamedTuple):
    """A statement; of one that has others inside, what is evaluated before them."""

    start: int
    evaluated: Range
    """What belongs to it alone: of an `if` its condition."""


class BranchPart(NamedTuple):
    """A place where an execution goes on in one of several ways."""

    kind: str
    """`if`, `loop`, `do`, `check`, `conditional`, `short circuit`, or `selection`: of a clause of `try`."""
    whole: Range
    condition: Range | None
    arms: tuple[Range | None, ...]
    """What each way leads to, if it is written; of a condition the way if it holds first."""


class SourceParts(NamedTuple):
    """What can be executed of a source, by where it starts."""

    functions: list[FunctionPart]
    statements: list[StatementPart]
    branches: list[BranchPart]
