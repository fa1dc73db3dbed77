"""FramePlaces in the source of one call frame: its open functions, and where each of them was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.contracts.abi_registry import AbiKey
from entresol.features.debugger.sources.definitions import CONSTRUCTOR, FALLBACK, RECEIVE
from entresol.features.debugger.sources.source_file import SourceFile
from entresol.features.debugger.sources.source_map import NO_SOURCE, PositionMap, Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from entresol.features.debugger.sources.compiled import CompiledContract
    from entresol.features.debugger.sources.definitions import Definition
    from entresol.features.debugger.sources.steps import Step
    from entresol.features.debugger.sources.walk import FrameWalk, OpenFunction

SELECTOR_SIZE: Final = 4
LAST_STEPS: Final = 64
"""Steps before the end among which is the last one that the optimizer has not moved."""

UNKNOWN_SELECTOR: Final = "<unrecognized-selector>"


class SourcePlace(NamedTuple):
    """A line of a function."""

    source: SourceFile
    line: int | None
    function: str | None
    container: str | None
    """The contract or library that defines the function; a free function has none."""
    container_kind: str | None


class Located(NamedTuple):
    """An instruction in a source: its span, and the function that this is in."""

    source: SourceFile
    span: Span
    definition: Definition

    @property
    def is_whole(self) -> bool:
        """Whether the span is all of the function, which is the case where it begins."""
        return self.span.start == self.definition.start and self.span.end == self.definition.end

    def names(self, other: Located) -> bool:
        """Return whether the function's text has the name of another; a constructor has that of its contract."""
        is_constructor = other.definition.name == CONSTRUCTOR
        name = other.definition.container if is_constructor else other.definition.name
        text = (self.source.text or b"")[self.definition.start : self.definition.end]
        return name is not None and name.encode() in text


class Segment(NamedTuple):
    """A function of the source, and the instructions where it was left, the innermost last."""

    entry: Located | None
    pcs: list[int]
    steps: Sequence[Step]
    """The last steps of the innermost function."""


class FramePlaces:
    """Finds the places of a frame's open functions.

    Fails: never; what the map does not tell is found by the call data.
    """

    def __init__(self, walk: FrameWalk, contract: CompiledContract) -> None:
        self._walk = walk
        self._contract = contract

    def open(self, *, is_call: bool) -> list[SourcePlace]:
        """Return the places of the open functions, at the last call of the frame or at its end."""
        walk = self._walk
        functions = walk.call_functions if is_call else walk.functions
        steps = (walk.call_last if is_call else walk.last)[-LAST_STEPS:]
        segments = self._segments(functions, steps)
        found: list[SourcePlace] = []
        for segment, following in zip(segments, [*segments[1:], None], strict=True):
            entered = None if following is None else following.entry
            found += self._of_segment(segment, entered)
        return found

    def _segments(self, functions: Sequence[OpenFunction], steps: Sequence[Step]) -> list[Segment]:
        """Return the functions of the source with where they are left: by calls of what the compiler added, or ended."""
        segments = [Segment(None, [], ())]
        for function in functions:
            segments[-1].pcs.append(function.call)
            entry = self.entry(function.entry)
            if entry is not None:
                segments.append(Segment(entry, [], ()))
        segments[-1].pcs.extend(step.pc for step in steps[-1:])
        return [*segments[:-1], segments[-1]._replace(steps=steps)]

    def _of_segment(self, segment: Segment, entered: Located | None) -> Iterator[SourcePlace]:
        found = next(filter(None, map(self.located, reversed(segment.pcs))), None)
        if segment.entry is None and entered is not None and _unpacks(found, entered):
            return
        entry = segment.entry or self._called()
        if found is not None and (entry is None or found.definition == entry.definition):
            better = self._before(segment.steps, found) if found.is_whole else None
            yield self._at(better or found)
            return
        if entry is None:
            yield self._unknown()
            return
        best = found if entered is not None else self._innermost(segment.steps, entry, found)
        if best is None or best.definition == entry.definition:
            yield self._at(best or entry)
            return
        # A modifier, or a function whose code the compiler has put here.
        own = self._before(segment.steps, entry)
        yield self._at(entry if own is None or best.definition.kind == "modifier" else own)
        yield self._at(best)

    def _innermost(
        self, steps: Sequence[Step], entry: Located, found: Located | None
    ) -> Located | None:
        """Return the last place of a function, or of one that it leads to: the optimizer merges ends that are the same."""
        recent = [
            place
            for place in (self.located(step.pc) for step in reversed(steps))
            if place is not None
        ]
        ran = {place.definition: place for place in (*recent, entry)}.values()
        places = recent if found is None else [found, *recent]
        led = {entry.definition: True}
        for place in places:
            if place.is_whole:
                continue
            if place.definition not in led:
                others = (other for other in ran if other.definition != place.definition)
                led[place.definition] = any(other.names(place) for other in others)
            if led[place.definition]:
                return place
        return None

    def _before(self, steps: Sequence[Step], entry: Located) -> Located | None:
        """Return the last place in a function: the optimizer merges the ends of functions that are the same."""
        places = filter(None, (self.located(step.pc) for step in reversed(steps)))
        inside = (
            place for place in places if place.definition == entry.definition and not place.is_whole
        )
        return next(inside, None)

    def located(self, pc: int) -> Located | None:
        """Return the function that an instruction belongs to."""
        code = self._walk.code
        return None if code is None else self._located(code.source_map.span(pc))

    def _located(self, span: Span) -> Located | None:
        source = self._contract.source(span.source)
        definition = None if source is None else source.function_at(span)
        if source is None or definition is None:
            return None
        return Located(source, span, definition)

    def entry(self, pc: int) -> Located | None:
        """Return the function that begins at an instruction: solc gives it the span of all of it, Vyper none."""
        code = self._walk.code
        if code is not None and isinstance(code.source_map, PositionMap):
            return self._located(code.source_map.span_from(pc))
        found = self.located(pc)
        return found if found is not None and found.is_whole else None

    def _called(self) -> Located | None:
        """Return the function that the call has entered, or else the one that it names."""
        name = self.function_name()
        entered = [
            place for place in map(self.entry, reversed(self._walk.targets)) if place is not None
        ]
        recent = filter(None, (self.located(step.pc) for step in reversed(self._walk.last)))
        same = (place for place in (*entered, *recent) if place.definition.name == name)
        found = next(same, None)
        if found is not None:
            return found._replace(span=_span_of(found.definition))
        return self._named(name) or next(iter(entered), None)

    def _named(self, name: str | None) -> Located | None:
        """Return the function of a name: that of the contract itself, or the only one that has a body."""
        found = [
            Located(source, _span_of(definition), definition)
            for source in self._contract.sources
            if source is not None and name is not None
            for definition in source.definitions
            if definition.name == name
            and definition.kind != "modifier"
            and source.has_body(definition)
        ]
        own = [place for place in found if place.definition.container == self._contract.name]
        if len(own) == 1 or name == CONSTRUCTOR:
            return own[0] if own else None
        return found[0] if len(found) == 1 else None

    def function_name(self) -> str | None:
        """Return what the call selects; None if the contract has nothing for it."""
        walk, contract = self._walk, self._contract
        if walk.is_creation:
            return CONSTRUCTOR
        found = contract.abis.find(AbiKey("function", walk.data[:SELECTOR_SIZE]))
        if found is not None:
            return found.name
        kinds = {entry.get("type") for entry in contract.abi}
        if not walk.data and "receive" in kinds:
            return RECEIVE
        return FALLBACK if "fallback" in kinds else None

    def _at(self, located: Located) -> SourcePlace:
        source, definition = located.source, located.definition
        container = definition.container
        kind = None
        if container is not None:
            outer = source.contract_named(container)
            kind = "contract" if outer is None else outer.kind
        line = source.line(located.span.start)
        return SourcePlace(source, line, definition.name, container, kind)

    def _unknown(self) -> SourcePlace:
        contract = self._contract
        source = contract.own_source or SourceFile(contract.file, None)
        whole = source.contract_named(contract.name)
        line = None if whole is None else source.line(whole.start)
        name = self.function_name() or UNKNOWN_SELECTOR
        return SourcePlace(source, line, name, contract.name, "contract")


def _span_of(definition: Definition) -> Span:
    return Span(definition.start, definition.end - definition.start, NO_SOURCE)


def _unpacks(found: Located | None, entered: Located) -> bool:
    """Return whether an instruction unpacks the arguments for a function, and so belongs to it."""
    return found is None or (found.is_whole and found.definition == entered.definition)
