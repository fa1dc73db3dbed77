"""A source: its text, its lines, and what it defines."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from entresol.features.debugger.sources.definitions import (
    Definition,
    solidity_definitions,
    vyper_definitions,
)

if TYPE_CHECKING:
    from entresol.features.debugger.sources.source_map import Span


BLOCK: Final = 1_024
"""Bytes of text in which lines are counted to find one."""

COUNT_BYTES: Final = 10
"""Bytes of memory of the count of a block, in an array that grows."""

OWN_BYTES: Final = 800
"""Bytes of memory of a source without its text."""

DEFINED_BYTES: Final = 300
"""Bytes of memory of a definition."""


class SourceFile:
    """A source of a compilation; without its text nothing in it is found. Any thread may use it."""

    def __init__(self, name: str, text: bytes | None) -> None:
        self.name = name
        self.text = text

    @property
    def is_vyper(self) -> bool:
        """Whether it is in Vyper."""
        return self.name.endswith((".vy", ".vyi"))

    @property
    def size(self) -> int:
        """The bytes of memory that it takes, with what was read of it."""
        text, definitions = len(self.text or b""), vars(self).get("definitions", ())
        lines = COUNT_BYTES * (text // BLOCK + 2)
        return OWN_BYTES + 4 * len(self.name) + text + lines + DEFINED_BYTES * len(definitions)

    @cached_property
    def _ends_before(self) -> array[int]:
        """How many lines end before each block of the text: for texts of lines alone, their starts would be much more."""
        text = self.text or b""
        counts = array("L", [0])
        for start in range(0, len(text), BLOCK):
            counts.append(counts[-1] + text.count(b"\n", start, start + BLOCK))
        return counts

    @cached_property
    def definitions(self) -> list[Definition]:
        """The definitions in it, those inside others after them."""
        if self.text is None:
            return []
        if self.is_vyper:
            return vyper_definitions(self.text, PurePosixPath(self.name).stem)
        return solidity_definitions(self.text)

    def read_definitions(self, limit: int) -> int:
        """Read what it defines, and keep some of that; return how much."""
        self.definitions = self.definitions[: max(limit, 0)]
        return len(self.definitions)

    def line(self, position: int) -> int | None:
        """Return the line of a byte, counted from one."""
        if self.text is None or not 0 <= position <= len(self.text):
            return None
        block = position // BLOCK
        return 1 + self._ends_before[block] + self.text.count(b"\n", block * BLOCK, position)

    def offset(self, line: int, column: int) -> int:
        """Return the byte of a line, counted from one, and of a column, counted from zero."""
        text, ends = self.text or b"", self._ends_before
        wanted = min(max(line - 1, 0), ends[-1])
        if not wanted:
            return max(column, 0)
        block = bisect_left(ends, wanted) - 1
        at = block * BLOCK - 1
        for _ in range(wanted - ends[block]):
            at = text.find(b"\n", at + 1)
        return at + 1 + max(column, 0)

    def has_body(self, definition: Definition) -> bool:
        """Return whether a function is more than a declaration; getters of variables have none to see."""
        if self.is_vyper or definition.kind == "variable":
            return True
        return self.text is not None and self.text[definition.end - 1 : definition.end] == b"}"

    def function_at(self, span: Span) -> Definition | None:
        """Return the function, the modifier or the variable that a span is in."""
        return self._innermost(span, ("function", "modifier", "variable"))

    def contract_named(self, name: str) -> Definition | None:
        """Return a contract by its name."""
        kinds = ("contract", "library", "interface")
        return next(
            (
                definition
                for definition in self.definitions
                if definition.name == name and definition.kind in kinds
            ),
            None,
        )

    def _innermost(self, span: Span, kinds: tuple[str, ...]) -> Definition | None:
        found = None
        for definition in self.definitions:
            if definition.kind in kinds and definition.contains(span.start, span.end):
                found = definition
        return found
