"""The parts of a source in Vyper that can be executed, by its lines: functions, statements, `if` and `assert`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.sources.coverage.parts import (
    CHECK,
    IF,
    BranchPart,
    FunctionPart,
    Range,
    SourceParts,
    StatementPart,
)
from entresol.sources.definitions import CONSTRUCTOR, FALLBACK

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN: Final = re.compile(
    rb"#[^\n]*+"
    rb"|\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)"
    rb"|\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])*+'?"
    rb"|\\\r?\n|\n|[({\[]|[)}\]]|[^\s\"'#(){}\[\]\\]++|\\",
    re.DOTALL,
)
"""What opens matches even if it is not closed: nothing is read twice, so that time is linear for any text."""
_DEFINED: Final = re.compile(rb"def\s+(\w+)")
_NAMES: Final = {"__init__": CONSTRUCTOR, "__default__": FALLBACK}
_ITERATED: Final = re.compile(rb"\sin\s+")
_WORD: Final = re.compile(rb"\w*")
_TEXTS: Final = (b'"', b"'")


class LogicalLine(NamedTuple):
    """A statement, or the head of one, which may have several lines; without comments."""

    start: int
    end: int
    indent: int


def vyper_parts(text: bytes, contract: str) -> SourceParts:
    """Return the functions of a source, which is one contract, with their statements and branches."""
    reader = _SourceReader(text, contract)
    reader.read()
    found = reader.parts
    found.branches.sort(key=lambda it: it.whole)
    found.statements.sort(key=lambda it: it.evaluated)
    return found


class _SourceReader:
    """Reads a source in Vyper.

    Remembers: its lines, and what was found. Fails: never; the text has been compiled, so what is not understood is
    skipped.
    """

    def __init__(self, text: bytes, contract: str) -> None:
        self._text = text
        self._contract = contract
        self._lines = list(_logical_lines(text))
        self.parts = SourceParts([], [], [])

    def read(self) -> None:
        """Find the parts of the source."""
        at = 0
        while at < len(self._lines):
            found = _DEFINED.match(self._of(at)) if not self._lines[at].indent else None
            following = self._block(at, is_read=found is not None)
            if found is not None and following > at + 1:
                name = found[1].decode()
                whole, body = self._range(at, following), self._range(at + 1, following)
                shown = f"{self._contract}.{_NAMES.get(name, name)}"
                self.parts.functions.append(FunctionPart(shown, whole, body))
            at = following

    def _block(self, head: int, *, is_read: bool = True) -> int:
        """Find the parts of the lines that a head has below it; return the place after them."""
        at, indent = head + 1, self._lines[head].indent
        while at < len(self._lines) and self._lines[at].indent > indent:
            at = self._statement(at) if is_read else at + 1
        return at

    def _statement(self, at: int) -> int:
        line, text = self._lines[at], self._of(at)
        word = _word(text)
        if text.startswith(_TEXTS):
            return at + 1
        if text.endswith(b":"):
            if word == b"if":
                return self._if(at)
            if word == b"for" and (found := _ITERATED.search(text)) is not None:
                self._evaluated(at, Range(line.start + found.end(), line.end - 1))
                return self._block(at)
        own = Range(line.start, line.end)
        self._evaluated(at, own)
        if word == b"assert":
            self.parts.branches.append(BranchPart(CHECK, own, None, (None, None)))
        return at + 1

    def _if(self, at: int) -> int:
        """Find the parts of an `if`, or of an `elif`, which is an `if` within the one before."""
        line = self._lines[at]
        text = self._of(at)
        after = text[len(_word(text)) : -1]
        condition = Range(line.end - 1 - len(after.lstrip()), line.end - 1)
        self._evaluated(at, condition)
        following = between = self._block(at)
        other = None
        if between < len(self._lines) and self._lines[between].indent == line.indent:
            word = _word(self._of(between))
            if word == b"elif":
                following = self._if(between)
                other = self._range(between, following)
            elif word == b"else":
                following = self._block(between)
                other = self._range(between + 1, following)
        arms = (self._range(at + 1, between), other)
        whole = self._range(at, following)
        self.parts.branches.append(BranchPart(IF, whole, condition, arms))
        return following

    def _evaluated(self, at: int, evaluated: Range) -> None:
        self.parts.statements.append(StatementPart(self._lines[at].start, evaluated))

    def _of(self, at: int) -> bytes:
        line = self._lines[at]
        return self._text[line.start : line.end]

    def _range(self, start: int, following: int) -> Range:
        last = max(start, following - 1)
        if start >= len(self._lines):
            return Range(0, 0)
        return Range(self._lines[start].start, self._lines[last].end)


def _logical_lines(text: bytes) -> Iterator[LogicalLine]:
    """Yield the lines that have a statement, or a part of one."""
    depth, start, end = 0, -1, 0
    for token in _TOKEN.finditer(text):
        found = token[0]
        if found == b"\n" and depth <= 0:
            if start >= 0:
                yield LogicalLine(start, end, _indent(text, start))
            depth, start = 0, -1
        elif not found.startswith((b"#", b"\\", b"\n")):
            depth += (found in b"([{") - (found in b")]}")
            start, end = token.start() if start < 0 else start, token.end()
    if start >= 0:
        yield LogicalLine(start, end, _indent(text, start))


def _word(text: bytes) -> bytes:
    found = _WORD.match(text)
    return b"" if found is None else found[0]


def _indent(text: bytes, start: int) -> int:
    return start - (text.rfind(b"\n", 0, start) + 1)
