"""Contracts and functions in the text of a source.

The text is read instead of the compiler's syntax tree: Foundry's artifacts have none, and those of Hardhat are many
times as long as the text. It has been compiled, so what is not understood here is skipped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

FALLBACK: Final = "<fallback>"
RECEIVE: Final = "<receive>"
CONSTRUCTOR: Final = "constructor"

CONTAINERS: Final = frozenset((b"contract", b"library", b"interface"))

MAX_NAME: Final = 1_000

_FIRST_WORDS: Final = 3

_TOKEN: Final = re.compile(
    rb"//[^\n]*+|/\*.*?(?:\*/|\Z)"
    rb"|\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])*+'?"
    rb"|[A-Za-z_$][\w$]*+|[{}()\[\];=]",
    re.DOTALL,
)
"""Openers match even if they are not closed: nothing is read twice, so that time is linear for any text."""
_VYPER_LINE: Final = re.compile(rb"^(?:@|def[ \t]++(\w++)|[^\s#)])[^\n]*", re.MULTILINE)
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

    def contains(self, start: int, end: int) -> bool:
        """Return whether a span is inside."""
        return self.start <= start and end <= self.end


class _Token(NamedTuple):
    text: bytes
    start: int
    end: int


class _Head(NamedTuple):
    """The beginning of a statement, of a few words however long it is."""

    words: list[bytes]
    variable: bytes
    """The name of a variable, if it declares one: the word before `=`, or before the last."""
    last: _Token


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
            name = _VYPER_NAMES.get(match[1], match[1][:MAX_NAME].decode())
        if match is None or not match[0].startswith(b"@"):
            decorated = None
    return found


class _Scanner:
    """Reads statements outside of functions, one by one."""

    def __init__(self, text: bytes) -> None:
        self._tokens = (
            _Token(match[0], match.start(), match.end())
            for match in _TOKEN.finditer(text)
            if match[0][:2] not in (b"//", b"/*")
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
        head = self._head(first)
        words, last = head.words, head.last
        place = 1 if words[0] == b"abstract" and len(words) > 1 else 0
        if container is None and words[place] in CONTAINERS and last.text == b"{":
            name = words[place + 1][:MAX_NAME].decode()
            inner = list(self.members(name))
            kind = words[place].decode()
            yield Definition(kind, name, first.start, self._end_or(last), None)
            yield from inner
            return
        end = self._skip_body() if last.text == b"{" else last.end
        named = _named(head)
        if named is not None:
            yield Definition(*named, first.start, end or last.end, container)

    _end: int | None = None

    def _end_or(self, last: _Token) -> int:
        found, self._end = self._end, None
        return last.end if found is None else found

    def _head(self, first: _Token) -> _Head:
        """Read up to `;`, or to the bracket that opens a body."""
        words, before, last = [first.text], b"", first
        variable = b"" if first.text == b"=" else None
        depth, is_value = 0, False
        for token in self._tokens:
            text, is_outer = token.text, not depth
            if text in b"([" or (text == b"{" and (depth or is_value)):
                depth += 1
            elif text in b")]" or (text == b"}" and depth):
                depth -= 1
            elif text == b"=" and not depth:
                is_value = True
            if is_outer or not depth:
                if text == b"=" and variable is None:
                    variable = last.text
                before, last = last.text, token
                if len(words) < _FIRST_WORDS:
                    words.append(text)
            if text in (b";", b"{", b"}") and not depth:
                break
        return _Head(words, before if variable is None else variable, last)

    def _skip_body(self) -> int | None:
        depth = 1
        for token in self._tokens:
            depth += (token.text == b"{") - (token.text == b"}")
            if not depth:
                return token.end
        return None


def _named(head: _Head) -> tuple[str, str] | None:
    words, first = head.words, head.words[0]
    if first in _SKIPPED or len(words) < 2:
        return None
    if words[1] == b"(" and head.last.text == b"{":
        # Before Solidity 0.6 a function without a name was the fallback.
        return ("function", FALLBACK if first == b"function" else _UNNAMED.get(first, ""))
    if first in (b"function", b"modifier") and words[1] != b"(":
        return first.decode(), words[1][:MAX_NAME].decode()
    name = head.variable[:MAX_NAME]
    return ("variable", name.decode()) if name[:1].isalpha() or name[:1] in (b"_", b"$") else None
