"""Where in the source each step is: sources and lines by the place of an instruction in its code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol.features.debugger.sources.frame_places import FramePlaces
from entresol.features.debugger.sources.source_file import SourceFile

if TYPE_CHECKING:
    from entresol.features.debugger.sources.compiled import CompiledCode
    from entresol.features.debugger.sources.frame_places import Located
    from entresol.features.debugger.sources.steps import TracedStep
    from entresol.features.debugger.sources.walk import FrameWalk


MAX_FILES: Final = 200


MAX_TEXT_BYTES: Final = 4 << 20
"""Files, and bytes of their texts, that an execution is shown with."""


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


class OpenedFunction(msgspec.Struct, frozen=True, gc=False):
    """A function that was entered, and those around it."""

    outer: OpenedFunction | None
    located: Located | None
    """None for one that the compiler has added."""
    call: StepPlace
    height: int | None
    """How many words the stack had when it was entered, with its arguments; None if the stack is not known."""
    count: int
    """How many functions of the source are open with it."""


class OpenFunctions:
    """The functions that are open in one call frame, as a chain that steps share."""

    def __init__(self, walk: FrameWalk, places: StepPlaces) -> None:
        self.innermost: OpenedFunction | None = None
        self._walk = walk
        self._places = places
        self._length = 0

    def at(self, step: TracedStep) -> OpenedFunction | None:
        """Return the innermost function at the step that the frame has followed last."""
        if step.op == "JUMP":
            # It is part of the function that it leaves.
            return self.innermost
        functions = self._walk.functions
        while self._length > len(functions):
            assert self.innermost is not None
            self.innermost = self.innermost.outer
            self._length -= 1
        if self._length < len(functions):
            self._enter(step)
        return self.innermost

    def _enter(self, step: TracedStep) -> None:
        entered, outer = self._walk.functions[-1], self.innermost
        located = self._places.of(self._walk, entered.entry).entry
        count = 0 if outer is None else outer.count
        self.innermost = OpenedFunction(
            outer,
            located,
            self._places.of(self._walk, entered.call),
            step.height,
            count + (located is not None),
        )
        self._length += 1


class LineGas(msgspec.Struct, gc=False):
    """The gas that the instructions of a line took, without the frames that they opened, and how many there were."""

    gas: int = 0
    steps: int = 0


class _Pending(msgspec.Struct, gc=False):
    """The last step of an open frame, whose gas is known at the next one."""

    place: StepPlace
    gas: int
    cost: int
    inner: int = 0
    """The gas of the frame that it opened."""


class GasByLine:
    """The gas of each line, as far as steps were followed."""

    def __init__(self) -> None:
        self.lines: dict[tuple[int, int], LineGas] = {}
        self._open: list[_Pending | None] = []

    def enter(self) -> None:
        """Enter a frame."""
        self._open.append(None)

    def step(self, place: StepPlace, step: TracedStep) -> None:
        """Note a step of the innermost frame."""
        pending = self._open[-1]
        if pending is not None:
            self._add(pending.place, pending.gas - step.gas - pending.inner)
        self._open[-1] = _Pending(place, step.gas, step.gas_cost)

    def leave(self, gas_used: int) -> None:
        """Leave the innermost frame, which has used as much with what is inside of it."""
        last = self._open.pop()
        if last is not None:
            self._add(last.place, last.cost)
        outer = self._open[-1] if self._open else None
        if outer is not None:
            outer.inner = gas_used

    def _add(self, place: StepPlace, gas: int) -> None:
        if place.source is None or place.line is None:
            return
        key = place.source, place.line
        sums = self.lines.get(key)
        if sums is None:
            sums = self.lines[key] = LineGas()
        sums.gas += gas
        sums.steps += 1
