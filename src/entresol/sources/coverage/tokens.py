"""The tokens of a source in Solidity, and which brackets belong together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.sources.coverage.parts import Range

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
"""What opens matches even if it is not closed: nothing is read twice, so that time is linear for any text."""


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
