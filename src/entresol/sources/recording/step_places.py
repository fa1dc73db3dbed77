"""Where in the source each step is: sources and lines by the place of an instruction in its code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.sources.frame_places import FramePlaces
from entresol.sources.recording.limits import MAX_FILES, MAX_TEXT_BYTES
from entresol.sources.source_file import SourceFile

if TYPE_CHECKING:
    from entresol.sources.compiled import CompiledCode
    from entresol.sources.frame_places import Located
    from entresol.sources.walk import FrameWalk


class StepPlace(NamedTuple):
    """A line of a source; both are None for what the compiler has added."""

    source: int | None = None
    line: int | None = None
    located: Located | None = None
    """The part of the source that the instruction belongs to, and the function around it."""
    entry: Located | None = None
    """The function that begins there."""


NOWHERE: Final = StepPlace()


class SourceList:
    """The sources that an execution is in, by the numbers that its steps have."""

    def __init__(self) -> None:
        self.files: list[SourceFile] = []
        self.omitted = 0
        self.text_bytes = 0
        self._numbers: dict[tuple[str, int], int | None] = {}

    def number(self, source: SourceFile) -> int | None:
        """Return the number of a source; None if there are too many."""
        key = source.name, hash(source.text)
        if key not in self._numbers:
            self._numbers[key] = self._add(source)
        return self._numbers[key]

    def _add(self, source: SourceFile) -> int | None:
        if len(self.files) == MAX_FILES:
            self.omitted += 1
            return None
        size = len(source.text or b"")
        if self.text_bytes + size > MAX_TEXT_BYTES:
            source, size = SourceFile(source.name, None), 0
        self.text_bytes += size
        self.files.append(source)
        return len(self.files) - 1


class StepPlaces:
    """The places of the instructions of each code of an execution."""

    def __init__(self, sources: SourceList) -> None:
        self._sources = sources
        self._codes: dict[int, dict[int, StepPlace]] = {}
        self._kept: list[CompiledCode] = []
        """The codes themselves, so that their identities stay theirs."""

    def of(self, walk: FrameWalk, pc: int) -> StepPlace:
        """Return the place of an instruction of a frame's code."""
        code = walk.code
        if code is None:
            return NOWHERE
        places = self._codes.get(id(code))
        if places is None:
            places = self._codes[id(code)] = {}
            self._kept.append(code)
        place = places.get(pc)
        if place is None:
            place = places[pc] = self._place(walk, pc)
        return place

    def _place(self, walk: FrameWalk, pc: int) -> StepPlace:
        assert walk.contract is not None
        places = FramePlaces(walk, walk.contract)
        entry, found = places.entry(pc), places.located(pc)
        if found is None:
            return StepPlace(entry=entry)
        source = self._sources.number(found.source)
        line = None if source is None else found.source.line(found.span.start)
        return StepPlace(source if line is not None else None, line, found, entry)
