"""The counts of sources: of each line, and of each function, how often it ran and with how much gas."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from entresol.features.debugger.sources.source_map import PositionMap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.features.debugger.sources.compiled import CompiledCode, CompiledContract
    from entresol.features.debugger.sources.definitions import Definition
    from entresol.features.debugger.sources.profile.totals import CodeTotals, ProfileTotals
    from entresol.features.debugger.sources.registry import SourceRegistry
    from entresol.features.debugger.sources.source_file import SourceFile
    from entresol.features.debugger.sources.source_map import Span

_K = TypeVar("_K")


class PlaceCounts(msgspec.Struct):
    """The counts of a line or a function."""

    executions: int = 0
    """How often the instruction of it ran that ran most often, in all codes that have it."""
    gas: int = 0
    """Without the gas of the frames that were opened there."""
    call_gas: int = 0
    """The gas of the frames that were opened there."""

    @property
    def gas_with_calls(self) -> int:
        """All gas."""
        return self.gas + self.call_gas


class FileCounts:
    """The counts of one source."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.lines: dict[int, PlaceCounts] = {}
        self.functions: dict[Definition, PlaceCounts] = {}


class SourceCounts:
    """The counts of all sources that are known. Fails: never; the gas of code that belongs to no line is `unmapped`."""

    def __init__(self) -> None:
        self._files: dict[tuple[str, bytes | None], FileCounts] = {}
        self.unmapped = 0
        """Gas of instructions of known contracts that the compiler has added, and of those that are not in its map."""

    @classmethod
    def of(cls, totals: ProfileTotals, sources: SourceRegistry) -> SourceCounts:
        """Return what ran of the sources of a registry."""
        counts = cls()
        for code in totals.codes.values():
            contract = sources.find(code.code, is_creation=code.is_creation)
            if contract is not None:
                counts.add(contract, code)
        return counts

    @property
    def files(self) -> list[FileCounts]:
        """The sources of which something ran, by name."""
        return sorted(self._files.values(), key=lambda it: it.source.name)

    def add(self, contract: CompiledContract, totals: CodeTotals) -> None:
        """Add what ran of one code of a contract."""
        compiled = contract.creation if totals.is_creation else contract.deployed
        if compiled is None:
            return
        by_span: dict[Span, PlaceCounts] = {}
        for pc, span in _spans(compiled, totals):
            counts = by_span.get(span)
            if counts is None:
                counts = by_span[span] = PlaceCounts()
            counts.executions = max(counts.executions, totals.executions[pc])
            counts.gas += totals.gas.get(pc, 0)
            counts.call_gas += totals.call_gas.get(pc, 0)
        lines: dict[tuple[FileCounts, int], PlaceCounts] = {}
        functions: dict[tuple[FileCounts, Definition], PlaceCounts] = {}
        for span, counts in by_span.items():
            source = contract.source(span.source)
            line = None if source is None else source.line(span.start)
            if source is None or line is None:
                self.unmapped += counts.gas_with_calls
                continue
            file = self._file(source)
            _put(lines, (file, line), counts)
            definition = source.function_at(span)
            if definition is not None:
                _put(functions, (file, definition), counts)
        # Several codes have the same line, such as the instances of a contract with other immutables.
        for (file, line), counts in lines.items():
            _sum(file.lines.setdefault(line, PlaceCounts()), counts)
        for (file, definition), counts in functions.items():
            _sum(file.functions.setdefault(definition, PlaceCounts()), counts)

    def _file(self, source: SourceFile) -> FileCounts:
        return self._files.setdefault((source.name, source.text), FileCounts(source))


def _spans(compiled: CompiledCode, totals: CodeTotals) -> Iterator[tuple[int, Span]]:
    """Yield the instructions that ran, with their places; Vyper's map names some of those that follow each other."""
    source_map = compiled.source_map
    find = source_map.span_from if isinstance(source_map, PositionMap) else source_map.span
    for pc in totals.executions:
        yield pc, find(pc)


def _put(places: dict[_K, PlaceCounts], key: _K, counts: PlaceCounts) -> None:
    """Add a part of a place, which runs as often as the part that runs most often."""
    place = places.setdefault(key, PlaceCounts())
    place.executions = max(place.executions, counts.executions)
    place.gas += counts.gas
    place.call_gas += counts.call_gas


def _sum(place: PlaceCounts, counts: PlaceCounts) -> None:
    place.executions += counts.executions
    place.gas += counts.gas
    place.call_gas += counts.call_gas
