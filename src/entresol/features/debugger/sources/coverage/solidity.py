"""The parts of a source in Solidity that can be executed.

The text is read instead of the compiler's syntax tree, as for definitions: Foundry's artifacts have none by default. The
tree is the oracle of the tests.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.features.debugger.sources.definitions import solidity_definitions

if TYPE_CHECKING:
    from collections.abc import Iterator

OPENING: Final = {b"(": b")", b"[": b"]", b"{": b"}"}

ASSIGNMENTS: Final = frozenset(
    (b"=", b"+=", b"-=", b"*=", b"/=", b"%=", b"|=", b"&=", b"^=", b"<<=", b">>=", b">>>=")
)

_TOKEN: Final = re.compile(
    rb"//[^\n\r]*+|/\*.*?(?:\*/|\Z)"
    rb"|\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])*+'?"
    rb"|[A-Za-z_$][\w$]*+|[0-9][\w.]*+"
    rb"|>>>=|<<=|>>=|>>>|&&|\|\||==|!=|<=|>=|=>|->|:=|\+\+|--|\*\*|<<|>>|[-+*/%|&^]=|\S",
    re.DOTALL,
)
"""Openers match even if they are not closed: nothing is read twice, so that time is linear for any text."""


class SourceToken(NamedTuple):
    """A word, a number, a text or an operator, and where it is."""

    text: bytes
    start: int
    end: int


class Tokens:
    """The tokens of a text without its comments. Fails: never; a bracket that is not closed ends with the text."""

    def __init__(self, text: bytes) -> None:
        self.all = [
            SourceToken(match[0], match.start(), match.end())
            for match in _TOKEN.finditer(text)
            if match[0][:2] not in (b"//", b"/*")
        ]
        self._closing = _closing(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def text(self, at: int) -> bytes:
        """Return the token at a place; nothing beyond the last."""
        return self.all[at].text if at < len(self.all) else b""

    def after(self, at: int) -> int:
        """Return the place after a token, or after the brackets that it opens."""
        return self._closing.get(at, at) + 1

    def closing(self, at: int) -> int:
        """Return where the bracket is closed that opens at a place."""
        return self._closing.get(at, at)

    def top(self, start: int, end: int) -> Iterator[int]:
        """Yield the places of tokens that are in no brackets; of brackets the opening one."""
        at = start
        while at < end:
            yield at
            at = self.after(at)

    def find(self, wanted: bytes, start: int, end: int) -> int:
        """Return the first place of a token that is in no brackets; `end` if there is none."""
        return next(
            (place for place in self.top(start, end) if self.all[place].text == wanted), end
        )

    def parts(self, separator: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the parts between separators that are in no brackets, unless they are empty."""
        first = start
        for place in self.top(start, end):
            if self.all[place].text == separator:
                if first < place:
                    yield first, place
                first = place + 1
        if first < end:
            yield first, end

    def range(self, start: int, end: int) -> Range:
        """Return the text of the tokens from one place up to another."""
        end = min(end, len(self.all))
        if start >= end:
            return Range(0, 0)
        return Range(self.all[start].start, self.all[end - 1].end)


def _closing(tokens: list[SourceToken]) -> dict[int, int]:
    found: dict[int, int] = {}
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token.text in OPENING:
            opened.append(at)
        elif opened and token.text == OPENING[tokens[opened[-1]].text]:
            found[opened.pop()] = at
    return found | dict.fromkeys(opened, len(tokens) - 1)


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
    """The range that belongs to it alone: of an `if` its condition."""


class BranchPart(NamedTuple):
    """A place where an execution goes on in one of several ways."""

    kind: str
    """`if`, `loop`, `do`, `check`, `conditional`, `short circuit`, or `selection`: of a clause of `try`."""
    whole: Range
    condition: Range | None
    arms: tuple[Range | None, ...]
    """The code that each way leads to, if it is written; of a condition the way if it holds first."""


class SourceParts(NamedTuple):
    """The parts of a source that can be executed, by where they start."""

    functions: list[FunctionPart]
    statements: list[StatementPart]
    branches: list[BranchPart]


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


_VALUES: Final = frozenset((b"return", b"emit", b"delete"))
_PLACEHOLDER: Final = b"_"
_BARE_RETURN: Final = b"return"
"""The only simple statement whose semicolon solc counts."""


def solidity_parts(text: bytes) -> SourceParts:
    """Return the functions of a source, with their statements and branches."""
    reader = _SourceReader(text)
    reader.read()
    found = reader.parts
    found.functions.sort(key=lambda it: it.whole)
    found.statements.sort(key=lambda it: it.evaluated)
    found.branches.sort(key=lambda it: it.whole)
    return found


class _SourceReader:
    """Reads a source in Solidity. Fails: never; the text has been compiled, so what is not understood is skipped."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._tokens = Tokens(text)
        self.parts = SourceParts([], [], [])

    def read(self) -> None:
        """Find the parts of the functions and modifiers that have a body."""
        tokens = self._tokens
        starts = [token.start for token in tokens.all]
        for defined in solidity_definitions(self._text):
            has_body = self._text[defined.end - 1 : defined.end] == b"}"
            if defined.kind not in {"function", "modifier"} or not has_body:
                continue
            at, outer = bisect_left(starts, defined.start), defined.container
            opening = tokens.find(b"{", at, len(tokens))
            following = tokens.after(opening)
            name = defined.name if outer is None else f"{outer}.{defined.name}"
            whole, body = tokens.range(at, following), tokens.range(opening, following)
            self.parts.functions.append(FunctionPart(name, whole, body))
            self._block(opening)

    def _block(self, opening: int) -> None:
        at, end = opening + 1, self._tokens.closing(opening)
        while at < end:
            at = max(self._statement(at), at + 1)

    def _statement(self, at: int) -> int:
        tokens = self._tokens
        match tokens.text(at):
            case b"{":
                self._block(at)
                return tokens.after(at)
            case b"unchecked" if tokens.text(at + 1) == b"{":
                self._block(at + 1)
                return tokens.after(at + 1)
            case b"if":
                return self._if(at)
            case b"for":
                return self._for(at)
            case b"while":
                return self._while(at)
            case b"do":
                return self._do(at)
            case b"try":
                return self._try(at)
            case b"assembly":
                return self._inline(at)
        following = tokens.find(b";", at, len(tokens))
        self._simple(at, following)
        return following + 1

    def _simple(self, start: int, end: int) -> None:
        tokens = self._tokens
        if start >= end or (end == start + 1 and tokens.text(start) == _PLACEHOLDER):
            return
        self._evaluated(start, self._range_of_statement(start, end + 1))
        value = start + (tokens.text(start) in _VALUES)
        self._expression(value, end)

    def _if(self, at: int) -> int:
        tokens = self._tokens
        condition, body = self._condition(at), tokens.after(at + 1)
        self._evaluated(at, condition)
        between = following = self._statement(body)
        other = None
        if tokens.text(between) == b"else":
            following = self._statement(between + 1)
            other = self._range_of_statement(between + 1, following)
        whole = self._range_of_statement(at, following)
        arms = (self._range_of_statement(body, between), other)
        self.parts.branches.append(BranchPart(IF, whole, condition, arms))
        return following

    def _while(self, at: int) -> int:
        condition = self._condition(at)
        self._evaluated(at, condition)
        body = self._tokens.after(at + 1)
        following = self._statement(body)
        self._loop(at, condition, body, following)
        return following

    def _for(self, at: int) -> int:
        tokens = self._tokens
        closing, body = tokens.closing(at + 1), tokens.after(at + 1)
        first = tokens.find(b";", at + 2, closing)
        second = tokens.find(b";", first + 1, closing)
        self._expression(at + 2, first)
        self._expression(first + 1, second)
        condition = tokens.range(first + 1, second)
        last = second if second > first + 1 else first
        if last > at + 2:
            self._evaluated(at, tokens.range(at + 2, last))
        if closing > second + 1:
            self._evaluated(second + 1, tokens.range(second + 1, closing))
            self._expression(second + 1, closing)
        following = self._statement(body)
        self._loop(at, condition, body, following)
        return following

    def _loop(self, at: int, condition: Range, body: int, following: int) -> None:
        whole = self._range_of_statement(at, following)
        arms = (self._range_of_statement(body, following), None)
        if not self._is_constant(condition):
            self.parts.branches.append(BranchPart(LOOP, whole, condition, arms))

    def _do(self, at: int) -> int:
        tokens = self._tokens
        last = self._statement(at + 1)
        condition, following = self._condition(last), tokens.after(last + 1) + 1
        self._evaluated(last, condition)
        body = self._range_of_statement(at + 1, last)
        # solc counts the semicolon.
        whole = tokens.range(at, following)
        if not self._is_constant(condition):
            self.parts.branches.append(BranchPart(DO, whole, condition, (body, None)))
        return following

    def _is_constant(self, condition: Range) -> bool:
        """Return whether a loop is left only from inside, or never repeated."""
        return self._text[condition.start : condition.end] in (b"", b"true", b"false")

    def _try(self, at: int) -> int:
        tokens = self._tokens
        following = self._after_call(at + 1)
        called = tokens.range(at + 1, following)
        self._evaluated(at, called)
        self._expression(at + 1, following)
        arms: list[Range | None] = []
        while True:
            opening = tokens.find(b"{", following, len(tokens))
            self._block(opening)
            following = tokens.after(opening)
            arms.append(tokens.range(opening, following))
            if tokens.text(following) != b"catch":
                break
        whole = tokens.range(at, following)
        self.parts.branches.append(BranchPart(SELECTION, whole, called, tuple(arms)))
        return following

    def _after_call(self, at: int) -> int:
        """Return the place after the call of a `try`: what follows is `returns`, or a block and no call option."""
        tokens = self._tokens
        for place in tokens.top(at, len(tokens)):
            if tokens.text(place) == b"returns":
                return place
            if tokens.text(place) == b"{" and tokens.text(tokens.after(place)) != b"(":
                return place
        return len(tokens)

    def _inline(self, at: int) -> int:
        """Take inline assembly for one statement."""
        tokens = self._tokens
        following = tokens.after(tokens.find(b"{", at, len(tokens)))
        self._evaluated(at, tokens.range(at, following))
        return following

    def _condition(self, at: int) -> Range:
        closing = self._tokens.closing(at + 1)
        self._expression(at + 2, closing)
        return self._tokens.range(at + 2, closing)

    def _evaluated(self, at: int, evaluated: Range) -> None:
        start = self._tokens.range(at, at + 1).start
        self.parts.statements.append(StatementPart(start, evaluated))

    def _expression(self, start: int, end: int) -> None:
        self.parts.branches.extend(branches_of(self._tokens, start, end))

    def _range_of_statement(self, start: int, following: int) -> Range:
        """Return a statement without its semicolon, as solc has it."""
        tokens = self._tokens
        if tokens.text(following - 1) != b";" or tokens.text(following - 2) == _BARE_RETURN:
            return tokens.range(start, following)
        return tokens.range(start, following - 1)
