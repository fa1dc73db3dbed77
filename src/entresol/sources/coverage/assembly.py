"""The statements and branches of inline assembly, which is Yul."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from entresol.sources.coverage.parts import IF, LOOP, SELECTION, BranchPart, Range, StatementPart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.sources.coverage.tokens import Tokens

Part: TypeAlias = StatementPart | BranchPart


class AssemblyReader:
    """Reads blocks of Yul.

    Remembers: the tokens. Fails: never; the text has been compiled, so what is not understood is skipped.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def block(self, opening: int) -> Iterator[Part]:
        """Yield the parts of a block that opens at a place."""
        at, end = opening + 1, self._tokens.closing(opening)
        while at < end:
            following, parts = self._statement(at)
            yield from parts
            at = max(following, at + 1)

    def _statement(self, at: int) -> tuple[int, Iterator[Part]]:
        """Return the place after a statement, and its parts."""
        tokens = self._tokens
        match tokens.text(at):
            case b"{":
                return tokens.after(at), self.block(at)
            case b"if":
                opening = self._after_expression(at + 1)
                return tokens.after(opening), self._if(at, opening)
            case b"for":
                condition = tokens.after(at + 1)
                step = self._after_expression(condition)
                body = tokens.after(step)
                return tokens.after(body), self._for(at, condition, step, body)
            case b"switch":
                return self._switch(at)
            case b"function":
                opening = tokens.find(b"{", at, len(tokens))
                return tokens.after(opening), self.block(opening)
            case b"let":
                following = self._after_names(at + 1)
            case _:
                following = self._after_names(at)
        if tokens.text(following) == b":=":
            following = self._after_expression(following + 1)
        elif tokens.text(following) == b"(":
            following = tokens.after(following)
        found = tokens.range(at, following)
        return following, iter((StatementPart(found.start, found),))

    def _if(self, at: int, opening: int) -> Iterator[Part]:
        tokens = self._tokens
        whole, condition = tokens.range(at, tokens.after(opening)), tokens.range(at + 1, opening)
        body = tokens.range(opening, tokens.after(opening))
        yield StatementPart(whole.start, condition)
        yield BranchPart(IF, whole, condition, (body, None))
        yield from self.block(opening)

    def _for(self, at: int, condition_at: int, step: int, body: int) -> Iterator[Part]:
        tokens = self._tokens
        whole, condition = tokens.range(at, tokens.after(body)), tokens.range(condition_at, step)
        yield StatementPart(whole.start, condition)
        arms = (tokens.range(body, tokens.after(body)), None)
        yield BranchPart(LOOP, whole, condition, arms)
        yield from self.block(at + 1)
        yield from self.block(step)
        yield from self.block(body)

    def _switch(self, at: int) -> tuple[int, Iterator[Part]]:
        tokens = self._tokens
        first = following = self._after_expression(at + 1)
        openings: list[int] = []
        has_default = False
        while tokens.text(following) in (b"case", b"default"):
            has_default |= tokens.text(following) == b"default"
            openings.append(tokens.find(b"{", following, len(tokens)))
            following = tokens.after(openings[-1])
        return following, self._cases(at, first, following, openings, has_default=has_default)

    def _cases(
        self, at: int, first: int, end: int, openings: list[int], *, has_default: bool
    ) -> Iterator[Part]:
        tokens = self._tokens
        whole, selected = tokens.range(at, end), tokens.range(at + 1, first)
        yield StatementPart(whole.start, selected)
        arms: list[Range | None] = [tokens.range(it, tokens.after(it)) for it in openings]
        if not has_default:
            arms.append(None)
        yield BranchPart(SELECTION, whole, selected, tuple(arms))
        for it in openings:
            yield from self.block(it)

    def _after_expression(self, at: int) -> int:
        """Return the place after a literal, a name or a call."""
        following = at + 1
        if self._tokens.text(at) in (b"hex", b"unicode"):
            following += 1
        while self._tokens.text(following) == b".":
            following += 2
        return self._tokens.after(following) if self._tokens.text(following) == b"(" else following

    def _after_names(self, at: int) -> int:
        following = at + 1
        while self._tokens.text(following) in (b",", b"."):
            following += 2
        return following
