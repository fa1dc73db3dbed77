"""Source maps of solc and Vyper: the place in the source of each instruction."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PUSH1: Final = 0x60
_PUSH32: Final = 0x7F
_FIELDS: Final = 4

JUMP_IN: Final = "i"
JUMP_OUT: Final = "o"
NO_SOURCE: Final = -1

MAX_CHECK: Final = 100
"""Characters of what Vyper says that an instruction checks."""

MAX_CHECKS: Final = 256
"""Different ones in a code."""


class Span(NamedTuple):
    """A part of a source, in bytes; `source` is its index in the compilation, or -1 if the compiler wrote the code."""

    start: int
    length: int
    source: int

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.start + self.length


_JUMPS: Final = frozenset((JUMP_IN, JUMP_OUT))

UNMAPPED: Final = Span(NO_SOURCE, NO_SOURCE, NO_SOURCE)


class Spans:
    """Spans in the order of a code. Fails: never; what has no place is unmapped."""

    def __init__(self) -> None:
        self._numbers = array("i")

    def __len__(self) -> int:
        return len(self._numbers) // len(UNMAPPED)

    def __getitem__(self, place: int) -> Span:
        return Span(*self._numbers[place * 3 : place * 3 + 3])

    def __iter__(self) -> Iterator[Span]:
        return (self[place] for place in range(len(self)))

    def append(self, span: Span) -> None:
        """Add a span."""
        try:
            self._numbers.extend(array("i", span))
        except OverflowError:
            self._numbers.extend(UNMAPPED)


class SourceMap:
    """The span, and the kind of jump, of each instruction of a code. Fails: never; what is malformed is not mapped."""

    def __init__(self, code: bytes, compressed: str) -> None:
        self._offsets = offsets_of(code)
        self._spans = Spans()
        self._firsts = array("I")
        """The instruction from which on each span holds."""
        self._jumps = bytearray()
        before: Span | None = None
        for number, (span, jump) in enumerate(islice(_entries(compressed), len(self._offsets))):
            if span != before:
                self._spans.append(span)
                self._firsts.append(number)
            before = span
            self._jumps += jump.encode("ascii", "replace")

    def span(self, pc: int) -> Span:
        """Return the span of the instruction at an offset of the code."""
        number = self._number(pc)
        if number is None or not self._spans:
            return UNMAPPED
        return self._spans[bisect_right(self._firsts, number) - 1]

    def sources(self) -> set[int]:
        """Return the numbers of the sources that it has."""
        return {span.source for span in self._spans}

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
        self._offsets = array("I", sorted(positions))
        self._spans = Spans()
        for pc in self._offsets:
            self._spans.append(positions[pc])
        self._jumped = array("I", sorted(pc for pc, jump in jumps.items() if jump in _JUMPS))
        self._jumps = "".join(jumps[pc] for pc in self._jumped)
        self._checked = array("I", sorted(checks))
        names = list(dict.fromkeys(check[:MAX_CHECK] for check in checks.values()))[:MAX_CHECKS]
        self._names = names
        """The names of checks, as `safesub`; others beyond the last are that one."""
        places = {name: place for place, name in enumerate(names)}
        last = len(names) - 1
        self._checks = bytes(places.get(checks[pc][:MAX_CHECK], last) for pc in self._checked)

    def span(self, pc: int) -> Span:
        """Return the span of the instruction at an offset of the code."""
        place = _place_of(self._offsets, pc)
        return UNMAPPED if place is None else self._spans[place]

    def sources(self) -> set[int]:
        """Return the numbers of the sources that it has."""
        return {span.source for span in self._spans}

    def span_from(self, pc: int) -> Span:
        """Return the span of the first instruction from an offset on that belongs to something."""
        place = bisect_left(self._offsets, pc)
        return self._spans[place] if place < len(self._offsets) else UNMAPPED

    def jump(self, pc: int) -> str:
        """Return whether the jump at an offset enters a function, `i`; not all compilers mark those that leave one, `o`."""
        place = _place_of(self._jumped, pc)
        return "-" if place is None else self._jumps[place]

    def check(self, pc: int) -> str | None:
        """Return what the compiler says that an instruction checks, as `safesub`."""
        place = _place_of(self._checked, pc)
        return None if place is None else self._names[self._checks[place]]


def _place_of(offsets: array[int], pc: int) -> int | None:
    place = bisect_left(offsets, pc)
    return place if place < len(offsets) and offsets[place] == pc else None


def offsets_of(code: bytes) -> Sequence[int]:
    """Return where each instruction starts."""
    offsets, at, size = array("I"), 0, len(code)
    while at < size:
        offsets.append(at)
        opcode = code[at]
        at += opcode - _PUSH1 + 2 if _PUSH1 <= opcode <= _PUSH32 else 1
    return offsets


def _entries(compressed: str) -> Iterator[tuple[Span, str]]:
    """Yield the entries of a map; a field that is empty, or missing, is that of the entry before."""
    fields = ["0", "0", "-1", "-"]
    span = UNMAPPED
    for entry in _divided(compressed):
        if entry:
            for place, field in enumerate(entry.split(":")[:_FIELDS]):
                if field:
                    fields[place] = field
            span = _span(fields)
        yield span, fields[3][0]


def _divided(compressed: str) -> Iterator[str]:
    """Yield the entries as text, one by one: dividing all at once holds other threads back."""
    start = 0
    while (end := compressed.find(";", start)) >= 0:
        yield compressed[start:end]
        start = end + 1
    yield compressed[start:]


def _span(fields: list[str]) -> Span:
    try:
        return Span(int(fields[0]), int(fields[1]), int(fields[2]))
    except ValueError:
        return UNMAPPED
