"""Contracts and functions in the text of a source.

The text is read instead of the compiler's syntax tree: Foundry's artifacts have none, and those of Hardhat are many
times as long as the text. It has been compiled, so what is not understood here is skipped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FALLBACK: Final = "<fallback>"
RECEIVE: Final = "<receive>"
CONSTRUCTOR: Final = "constructor"

CONTAINERS: Final = frozenset((b"contract", b"library", b"interface"))

_TOKEN: Final = re.compile(
    rb"//[^\n]*+|/\*.*?(?:\*/|\Z)"
    rb"|\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])*+'?"
    rb"|[A-Za-z_$][\w$]*+|[{}()\[\];=]",
    re.DOTALL,
)
"""What opens matches even if it is not closed: nothing is read twice, so that time is linear for any text."""
_VYPER_LINE: Final = re.compile(rb"^(?:@|def[ \t]++(\w++)|[^\s#)])[^\n]*", re.MULTILINE)
"""A line that starts a statement outside of functions."""
_UNNAMED: Final = {
    b"constructor": CONSTRUCTOR,
    b"fallback": FALLBACK,
    b"receive": RECEIVE,
}
_VYPER_NAMES: Final = {b"__init__": CONSTRUCTOR, b"__default__": FALLBACK}
_SKIPPED: Final = frozenset(
    (b"struct", b"enum", b"event", b"error", b"using", b"import", b"pragma", b"type")
)


class Definition(NamedTuple):
    """A contract, or a function, a modifier or a variable of one, and where it is."""

    kind: str
    """`contract`, `library`, `interface`, `function`, `modifier` or `variable`."""
    name: str
    start: int
    end: int
    container: str | None
    """The contract that it is part of."""

    def contains(self, start: int, end: int) -> bool:
        """Return whether a span is inside."""
        return self.start <= start and end <= self.end


class _Token(NamedTuple):
    text: bytes
    start: int
    end: int


def solidity_definitions(text: bytes) -> list[Definition]:
    """Return what a source in Solidity defines, contracts before what they contain."""
    return list(_Scanner(text).members(None))


def vyper_definitions(text: bytes, contract: str) -> list[Definition]:
    """Return what a source in Vyper defines, which is one contract."""
    found = [Definition("contract", contract, 0, len(text), None)]
    start, name, decorated = 0, "", None
    for match in (*_VYPER_LINE.finditer(text), None):
        if match is not None and match[0].startswith(b"@"):
            decorated = match.start() if decorated is None else decorated
        if name:
            until = len(text) if match is None else match.start()
            end = start + len(text[start:until].rstrip())
            found.append(Definition("function", name, start, end, contract))
            name = ""
        if match is not None and match[1] is not None:
            start = match.start() if decorated is None else decorated
            name = _VYPER_NAMES.get(match[1], match[1].decode())
        if match is None or not match[0].startswith(b"@"):
            decorated = None
    return found


class _Scanner:
    """Reads statements outside of functions, one by one."""

    def __init__(self, text: bytes) -> None:
        self._tokens = (
            _Token(it[0], it.start(), it.end())
            for it in _TOKEN.finditer(text)
            if it[0][:2] not in (b"//", b"/*")
        )

    def members(self, container: str | None) -> Iterator[Definition]:
        """Yield what is defined up to the bracket that closes a contract, or to the end."""
        for token in self._tokens:
            if token.text == b"}":
                self._end = token.end
                return
            if token.text != b";":
                yield from self._statement(token, container)

    def _statement(self, first: _Token, container: str | None) -> Iterator[Definition]:
        head = [first, *self._head()]
        words = [it.text for it in head]
        place = 1 if words[0] == b"abstract" and len(words) > 1 else 0
        if container is None and words[place] in CONTAINERS and words[-1] == b"{":
            name = words[place + 1].decode()
            inner = list(self.members(name))
            kind = words[place].decode()
            yield Definition(kind, name, first.start, self._end_or(head), None)
            yield from inner
            return
        end = self._skip_body() if words[-1] == b"{" else head[-1].end
        named = _named(words)
        if named is not None:
            yield Definition(*named, first.start, end or head[-1].end, container)

    _end: int | None = None

    def _end_or(self, head: Sequence[_Token]) -> int:
        found, self._end = self._end, None
        return head[-1].end if found is None else found

    def _head(self) -> Iterator[_Token]:
        """Yield the tokens up to `;`, or to the bracket that opens a body."""
        depth, is_value = 0, False
        for token in self._tokens:
            text = token.text
            if text in b"([" or (text == b"{" and (depth or is_value)):
                depth += 1
            elif text in b")]" or (text == b"}" and depth):
                depth -= 1
            elif text == b"=" and not depth:
                is_value = True
            if text in (b";", b"{", b"}") and not depth:
                yield token
                return
            if not depth or text in b"([":
                yield token

    def _skip_body(self) -> int | None:
        depth = 1
        for token in self._tokens:
            depth += (token.text == b"{") - (token.text == b"}")
            if not depth:
                return token.end
        return None


def _named(words: Sequence[bytes]) -> tuple[str, str] | None:
    """Return kind and name of what a statement defines."""
    first = words[0]
    if first in _SKIPPED or len(words) < 2:
        return None
    if words[1] == b"(" and words[-1] == b"{":
        # Before Solidity 0.6 a function without a name was the fallback.
        return ("function", FALLBACK if first == b"function" else _UNNAMED.get(first, ""))
    if first in (b"function", b"modifier") and words[1] != b"(":
        return first.decode(), words[1].decode()
    names = words[: words.index(b"=")] if b"=" in words else words[:-1]
    last = names[-1] if names else b""
    return ("variable", last.decode()) if last[:1].isalpha() or last[:1] in (b"_", b"$") else None
