"""The branches within an expression of Solidity: conditionals, operators that may skip an operand, and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.sources.coverage.parts import (
    CHECK,
    CONDITIONAL,
    SHORT_CIRCUIT,
    BranchPart,
)
from entresol.sources.coverage.tokens import ASSIGNMENTS, OPENING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.sources.coverage.tokens import Tokens

CHECKS: Final = frozenset((b"require", b"assert"))
_OR: Final = b"||"
_AND: Final = b"&&"


def branches_of(tokens: Tokens, start: int, end: int) -> Iterator[BranchPart]:
    """Yield the branches of the expression between two places."""
    for at in tokens.top(start, end):
        text = tokens.text(at)
        if text in ASSIGNMENTS:
            yield from branches_of(tokens, start, at)
            yield from branches_of(tokens, at + 1, end)
            return
        if text == b"?":
            yield from _conditional(tokens, start, at, end)
            return
    yield from _either(tokens, start, end)


def _conditional(tokens: Tokens, start: int, mark: int, end: int) -> Iterator[BranchPart]:
    colon, open_marks = end, 0
    for at in tokens.top(mark + 1, end):
        text = tokens.text(at)
        if text == b":" and not open_marks:
            colon = at
            break
        open_marks += (text == b"?") - (text == b":")
    arms = (tokens.range(mark + 1, colon), tokens.range(colon + 1, end))
    condition = tokens.range(start, mark)
    yield BranchPart(CONDITIONAL, tokens.range(start, end), condition, arms)
    yield from branches_of(tokens, start, mark)
    yield from branches_of(tokens, mark + 1, colon)
    yield from branches_of(tokens, colon + 1, end)


def _either(tokens: Tokens, start: int, end: int) -> Iterator[BranchPart]:
    """Yield the branches of operands of `||`, each of which may consist of operands of `&&`."""
    operands = list(tokens.parts(_OR, start, end))
    yield from _skipped(tokens, operands)
    for first, last in operands:
        inner = list(tokens.parts(_AND, first, last))
        yield from _skipped(tokens, inner)
        for operand in inner:
            yield from _operand(tokens, *operand)


def _skipped(tokens: Tokens, operands: list[tuple[int, int]]) -> Iterator[BranchPart]:
    """Yield a branch for each operand but the first: it is evaluated, or not needed."""
    for first, last in operands[1:]:
        whole = tokens.range(operands[0][0], last)
        yield BranchPart(SHORT_CIRCUIT, whole, None, (tokens.range(first, last), None))


def _operand(tokens: Tokens, start: int, end: int) -> Iterator[BranchPart]:
    for at in tokens.top(start, end):
        text = tokens.text(at)
        if text not in OPENING:
            continue
        closing = tokens.closing(at)
        is_call = text == b"(" and at > start and tokens.text(at - 1) in CHECKS
        if is_call and tokens.text(at - 2) != b".":
            condition = tokens.range(at + 1, tokens.find(b",", at + 1, closing))
            yield BranchPart(CHECK, tokens.range(at - 1, closing + 1), condition, (None, None))
        for first, last in tokens.parts(b",", at + 1, closing):
            named = first + 2 if text == b"{" and tokens.text(first + 1) == b":" else first
            yield from branches_of(tokens, named, last)
