"""A source: its text, its lines, and what it defines."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from entresol.sources.definitions import (
    Definition,
    solidity_definitions,
    vyper_definitions,
)

if TYPE_CHECKING:
    from entresol.sources.source_map import Span


class SourceFile:
    """A source of a compilation; without its text nothing in it is found.

    Remembers: the text, and what was asked for once. Fails: never. Any thread may use it.
    """

    def __init__(self, name: str, text: bytes | None) -> None:
        self.name = name
        self.text = text

    @property
    def is_vyper(self) -> bool:
        """Whether it is in Vyper."""
        return self.name.endswith((".vy", ".vyi"))

    @cached_property
    def line_starts(self) -> list[int]:
        """Where each line starts, in bytes."""
        starts, at = [0], -1
        text = self.text or b""
        while (at := text.find(b"\n", at + 1)) >= 0:
            starts.append(at + 1)
        return starts

    @cached_property
    def definitions(self) -> list[Definition]:
        """What it defines, what is inside of others after them."""
        if self.text is None:
            return []
        if self.is_vyper:
            return vyper_definitions(self.text, PurePosixPath(self.name).stem)
        return solidity_definitions(self.text)

    def line(self, position: int) -> int | None:
        """Return the line of a byte, counted from one."""
        if self.text is None or not 0 <= position <= len(self.text):
            return None
        return bisect_right(self.line_starts, position)

    def offset(self, line: int, column: int) -> int:
        """Return the byte of a line, counted from one, and of a column, counted from zero."""
        starts = self.line_starts
        return starts[min(max(line, 1), len(starts)) - 1] + max(column, 0)

    def has_body(self, definition: Definition) -> bool:
        """Return whether a function is more than a declaration; getters of variables have none to see."""
        if self.is_vyper or definition.kind == "variable":
            return True
        return self.text is not None and self.text[definition.end - 1 : definition.end] == b"}"

    def function_at(self, span: Span) -> Definition | None:
        """Return the function, the modifier or the variable that a span is in."""
        return self._innermost(span, ("function", "modifier", "variable"))

    def contract_at(self, span: Span) -> Definition | None:
        """Return the contract that a span is in, or is."""
        return self._innermost(span, ("contract", "library", "interface"))

    def contract_named(self, name: str) -> Definition | None:
        """Return a contract by its name."""
        kinds = ("contract", "library", "interface")
        return next((it for it in self.definitions if it.name == name and it.kind in kinds), None)

    def _innermost(self, span: Span, kinds: tuple[str, ...]) -> Definition | None:
        found = None
        for it in self.definitions:
            if it.kind in kinds and it.contains(span.start, span.end):
                found = it
        return found
