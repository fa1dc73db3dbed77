"""The variables that a function in Solidity declares, in the order in which the stack has them.

The text is read instead of the compiler's syntax tree, which Foundry's artifacts do not have. It has been compiled;
where it has what is not understood here, nothing is said of the variables that follow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TEXT: Final = 64 << 10

MAX_STATEMENT: Final = 4 << 10

MAX_NESTING: Final = 100

_SILENT: Final = re.compile(
    rb"//[^\n]*+|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])*+'?", re.DOTALL
)
_MARK: Final = re.compile(rb"[(){};]")
_NAME: Final = rb"[A-Za-z_$][\w$]*+"
_TYPE: Final = rb"(" + _NAME + rb"(?:\s*\.\s*" + _NAME + rb")*+(?:\s*\[[^\]]*+\])*+)"
_VARIABLE: Final = re.compile(
    rb"\s*" + _TYPE + rb"((?:\s+(?:memory|storage|calldata|payable)\b)*+)\s*(" + _NAME + rb")?\s*"
)
_DECLARED: Final = re.compile(
    rb"\s*" + _TYPE + rb"((?:\s+(?:memory|storage|calldata|payable)\b)*+)\s+(" + _NAME + rb")\s*\Z"
)
_NO_TYPES: Final = frozenset(
    b"return emit revert delete else if for while do new throw using unchecked assembly".split()
)
_BLOCK_HEAD: Final = re.compile(
    rb"\s*(?:(?:else\s+)?(?:if|for|while)\b.*|else|do|unchecked|)\s*", re.DOTALL
)
_FOR: Final = re.compile(rb"(?:.*\belse\b)?\s*for\s*", re.DOTALL)
_ASSEMBLY: Final = re.compile(rb"\s*assembly\b")
_RETURNS: Final = re.compile(rb"\breturns\s*\(")
_UNKNOWN: Final = re.compile(rb"\b(?:try|function|mapping)\b")
_MODIFIERS: Final = frozenset(
    b"public private internal external pure view payable virtual override constant".split()
)


class DeclaredVariable(NamedTuple):
    """A variable: its type, and how many words of the stack it takes."""

    name: str
    type: str
    location: str
    """`memory`, `storage`, `calldata`, or nothing."""
    start: int = 0
    """From where in the source it has its value."""
    end: int = 0
    """To where it is there."""

    @property
    def words(self) -> int:
        """How many words it takes."""
        is_dynamic = self.type in ("bytes", "string") or self.type.endswith("[]")
        return 2 if self.location == "calldata" and is_dynamic else 1


class Declarations(NamedTuple):
    """The variables of a function."""

    parameters: list[DeclaredVariable]
    results: list[DeclaredVariable]
    local: list[DeclaredVariable] | None
    """None if their places are not certain: modifiers have variables of their own."""


class NotUnderstood(Exception):  # noqa: N818 - it is not an error of the node
    """The text has something that is not read here."""


def declarations(text: bytes, start: int, end: int) -> Declarations | None:
    """Return the variables of a function at a place of a source; None if they are not understood."""
    if end - start > MAX_TEXT:
        return None
    code = _SILENT.sub(lambda it: b" " * len(it[0]), text[start:end])
    try:
        return _declarations(code, start)
    except NotUnderstood:
        return None


def _declarations(code: bytes, start: int) -> Declarations:
    opening = code.find(b"(")
    body = code.find(b"{")
    if opening < 0 or body < opening:
        raise NotUnderstood
    closing = _closing(code, opening)
    parameters = _listed(code[opening + 1 : closing])
    head = code[closing + 1 : body]
    returns, results = _RETURNS.search(code, closing, body), []
    if returns is not None:
        last = _closing(code, returns.end() - 1)
        results = _listed(code[returns.end() : last])
        head = code[closing + 1 : returns.start()] + code[last + 1 : body]
    words = re.sub(rb"\boverride\s*\([^)]*+\)", b"", head).split()
    is_plain = all(word in _MODIFIERS for word in words)
    found: list[DeclaredVariable] | None = None
    if is_plain and _UNKNOWN.search(code, body) is None:
        found = [
            variable._replace(start=variable.start + start, end=variable.end + start)
            for variable in _block(code, body + 1, _closing(code, body), 0)
        ]
    return Declarations(parameters, results, found)


def _listed(text: bytes) -> list[DeclaredVariable]:
    if not text.strip():
        return []
    return [_declared(_VARIABLE.fullmatch(part)) for part in text.split(b",")]


def _declared(found: re.Match[bytes] | None, start: int = 0, end: int = 0) -> DeclaredVariable:
    if found is None or found[1] in _NO_TYPES:
        raise NotUnderstood
    kind = b"".join(found[1].split()).decode()
    locations = set(found[2].decode().split()) - {"payable"}
    if len(locations) > 1:
        raise NotUnderstood
    return DeclaredVariable((found[3] or b"").decode(), kind, "".join(locations), start, end)


def _block(code: bytes, at: int, end: int, depth: int) -> Iterator[DeclaredVariable]:
    if depth > MAX_NESTING:
        raise NotUnderstood
    start = at
    while (mark := _MARK.search(code, at, end)) is not None:
        at = mark.end()
        if mark.start() - start > MAX_STATEMENT:
            raise NotUnderstood
        head = code[start : mark.start()]
        if mark[0] == b"(":
            closing = _closing(code, mark.start())
            if _FOR.fullmatch(head) is not None:
                first = code.find(b";", at, closing)
                yield from _statement(code, at, first, _end_of_loop(code, closing + 1, end))
            at = closing + 1
        elif mark[0] == b";":
            yield from _statement(code, start, mark.start(), end)
            start = at
        elif mark[0] == b"{":
            closing = _closing(code, mark.start())
            if _ASSEMBLY.match(head) is not None:
                start = closing + 1
            elif _BLOCK_HEAD.fullmatch(head) is not None:
                yield from _block(code, at, closing, depth + 1)
                start = closing + 1
            at = closing + 1


def _statement(code: bytes, start: int, end: int, scope: int) -> Iterator[DeclaredVariable]:
    """Yield what a statement declares, from where it ends to the end of its block."""
    left = code[start:end].partition(b"=")[0]
    if left.lstrip().startswith(b"("):
        inner = left.strip()[1:-1]
        for part in inner.split(b","):
            found = _DECLARED.fullmatch(part)
            if found is not None and found[1] not in _NO_TYPES:
                yield _declared(found, end, scope)
        return
    found = _DECLARED.fullmatch(left)
    if found is not None and found[1] not in _NO_TYPES:
        yield _declared(found, end, scope)


def _end_of_loop(code: bytes, at: int, end: int) -> int:
    mark = _MARK.search(code, at, end)
    if mark is None:
        return end
    if mark[0] == b"{" and not code[at : mark.start()].strip():
        return _closing(code, mark.start())
    found = code.find(b";", at, end)
    return end if found < 0 else found


def _closing(code: bytes, opening: int) -> int:
    """Return where the bracket that opens at a place is closed."""
    pairs = {b"(": b")", b"{": b"}"}
    mine = code[opening : opening + 1]
    other, depth = pairs[mine], 0
    for mark in _MARK.finditer(code, opening):
        depth += (mark[0] == mine) - (mark[0] == other)
        if not depth:
            return mark.start()
    raise NotUnderstood
