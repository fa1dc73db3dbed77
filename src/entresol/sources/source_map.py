"""Source maps of solc and Vyper: the place in the source of each instruction."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PUSH1: Final = 0x60
_PUSH32: Final = 0x7F
_FIELDS: Final = 4

JUMP_IN: Final = "i"
JUMP_OUT: Final = "o"
NO_SOURCE: Final = -1


class Span(NamedTuple):
    """A part of a source, in bytes; `source` is its index in the compilation, or -1 if the compiler wrote the code."""

    start: int
    length: int
    source: int

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.start + self.length


UNMAPPED: Final = Span(NO_SOURCE, NO_SOURCE, NO_SOURCE)


class SourceMap:
    """The span, and the kind of jump, of each instruction of a code.

    Remembers: the map as the compiler has compressed it, a span for each entry that names one. Fails: never; what is
    malformed is not mapped.
    """

    def __init__(self, code: bytes, compressed: str) -> None:
        self._offsets = offsets_of(code)
        self._spans: list[Span] = []
        self._firsts = array("L")
        """The instruction from which on each span holds."""
        self._jumps = bytearray()
        for number, (span, jump) in enumerate(_entries(compressed)):
            if number == len(self._offsets):
                break
            if not self._spans or span != self._spans[-1]:
                self._spans.append(span)
                self._firsts.append(number)
            self._jumps += jump.encode()

    def span(self, pc: int) -> Span:
        """Return the span of the instruction at an offset of the code."""
        number = self._number(pc)
        if number is None or not self._spans:
            return UNMAPPED
        return self._spans[bisect_right(self._firsts, number) - 1]

    def sources(self) -> set[int]:
        """Return the numbers of the sources that it has."""
        return {it.source for it in self._spans}

    def instructions(self) -> Iterator[tuple[int, Span, str]]:
        """Yield where each instruction is, its span and its kind of jump, in order."""
        ends = [*self._firsts[1:], len(self._jumps)]
        for span, first, end in zip(self._spans, self._firsts, ends, strict=True):
            for number in range(first, end):
                yield self._offsets[number], span, chr(self._jumps[number])

    def jump(self, pc: int) -> str:
        """Return whether the jump at an offset enters a function, `i`, or leaves one, `o`."""
        number = self._number(pc)
        return "-" if number is None else chr(self._jumps[number])

    def _number(self, pc: int) -> int | None:
        number = bisect_right(self._offsets, pc) - 1
        return number if 0 <= number < len(self._jumps) else None


class PositionMap:
    """The map of Vyper, by offsets of the code: what some instructions belong to, and what they check."""

    def __init__(
        self,
        positions: Mapping[int, Span],
        jumps: Mapping[int, str],
        checks: Mapping[int, str],
    ) -> None:
        self._spans = positions
        self._offsets = sorted(positions)
        self._jumps = jumps
        self._checks = checks

    def span(self, pc: int) -> Span:
        """Return the span of the instruction at an offset of the code."""
        return self._spans.get(pc, UNMAPPED)

    def sources(self) -> set[int]:
        """Return the numbers of the sources that it has."""
        return {it.source for it in self._spans.values()}

    def span_from(self, pc: int) -> Span:
        """Return the span of the first instruction from an offset on that belongs to something."""
        place = bisect_left(self._offsets, pc)
        return self._spans[self._offsets[place]] if place < len(self._offsets) else UNMAPPED

    def jump(self, pc: int) -> str:
        """Return whether the jump at an offset enters a function, `i`; those that leave one are not marked."""
        return self._jumps.get(pc, "-")

    def check(self, pc: int) -> str | None:
        """Return what the compiler says that an instruction checks, as `safesub`."""
        return self._checks.get(pc)


def offsets_of(code: bytes) -> Sequence[int]:
    """Return where each instruction starts."""
    offsets, at, size = array("L"), 0, len(code)
    while at < size:
        offsets.append(at)
        opcode = code[at]
        at += opcode - _PUSH1 + 2 if _PUSH1 <= opcode <= _PUSH32 else 1
    return offsets


def _entries(compressed: str) -> Iterator[tuple[Span, str]]:
    """Yield the entries of a map; a field that is empty, or missing, is that of the entry before."""
    fields = ["0", "0", "-1", "-"]
    span = UNMAPPED
    for entry in compressed.split(";"):
        if entry:
            for place, field in enumerate(entry.split(":")[:_FIELDS]):
                if field:
                    fields[place] = field
            span = _span(fields)
        yield span, fields[3][0]


def _span(fields: list[str]) -> Span:
    try:
        return Span(int(fields[0]), int(fields[1]), int(fields[2]))
    except ValueError:
        return UNMAPPED
