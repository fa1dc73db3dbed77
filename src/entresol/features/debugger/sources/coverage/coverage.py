"""The coverage of the sources of contracts, in all codes that have them."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from entresol.features.debugger.sources.coverage.places import PartsIndex, places_of
from entresol.features.debugger.sources.coverage.solidity import (
    SELECTION,
    Range,
    SourceParts,
    solidity_parts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from entresol.features.debugger.sources.compiled import CompiledCode, CompiledContract
    from entresol.features.debugger.sources.coverage.places import SourcePlaces
    from entresol.features.debugger.sources.source_file import SourceFile

log = logging.getLogger(__name__)


class Share(NamedTuple):
    """How many of some parts ran."""

    covered: int
    total: int

    @property
    def percent(self) -> float:
        """The share in percent; all of nothing is 100."""
        return 100 * self.covered / self.total if self.total else 100.0

    @classmethod
    def of(cls, counts: Iterable[int]) -> Share:
        """Return the share of counts that are not zero."""
        found = list(counts)
        return cls(sum(count > 0 for count in found), len(found))

    def plus(self, other: Share) -> Share:
        """Return both together."""
        return Share(self.covered + other.covered, self.total + other.total)


class FunctionCount(NamedTuple):
    """How often a function was entered."""

    name: str
    line: int
    times: int


class BranchCount(NamedTuple):
    """How often an execution went on in each way of a branch; None if it was never reached."""

    line: int
    ways: tuple[int | None, ...]


class SourceCoverage:
    """The coverage of a source."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.index = PartsIndex(_parts_of(source))
        parts = self.index.parts
        self._functions = [0] * len(parts.functions)
        self._statements = [0] * len(parts.statements)
        self._ways = [[0] * len(branch.arms) for branch in parts.branches]
        self._with_code: set[int] = set()
        """Functions that have code; of others all parts are counted, as not covered."""
        self._known: set[tuple[str, int]] = set()
        """Statements and branches that have code."""

    def know(self, places: SourcePlaces) -> None:
        """Remember what a code has of the source."""
        self._with_code.update(places.functions)
        self._known.update(("statement", statement) for statement in places.statements)
        self._known.update(("branch", branch) for branch in places.branches)
        self._known.update(("branch", number) for number, _ in places.arms)
        self._known.update(("branch", selection) for selection in places.selections)

    def add(
        self, places: SourcePlaces, executions: Mapping[int, int], taken: Mapping[int, int]
    ) -> None:
        """Add what ran of a code, by its instructions."""

        def times(pcs: Iterable[int]) -> int:
            return sum(executions.get(pc, 0) for pc in pcs)

        for number in places.functions:
            self._functions[number] += _entered(places, number, executions)
        for number, pcs in places.statements.items():
            self._statements[number] += times(pcs)
        for number, jumps in places.branches.items():
            for jump in jumps:
                jumped = taken.get(jump.pc, 0)
                other = executions.get(jump.pc, 0) - jumped
                ways = self._ways[number]
                ways[0] += jumped if jump.is_taken_first else other
                ways[1] += other if jump.is_taken_first else jumped
        for number, branch in enumerate(self.index.parts.branches):
            if branch.kind == SELECTION:
                self._select(places, number, times)

    def _select(
        self, places: SourcePlaces, number: int, times: Callable[[Iterable[int]], int]
    ) -> None:
        """Add the clauses of a selection; one without code has what is left of its executions."""
        arms = range(len(self._ways[number]))
        counts = {
            arm: times(places.arms[number, arm]) for arm in arms if (number, arm) in places.arms
        }
        reached = times(places.selections.get(number, ()))
        for arm in arms:
            if arm in counts:
                self._ways[number][arm] += counts[arm]
        missing = [arm for arm in arms if arm not in counts]
        if len(missing) == 1:
            self._ways[number][missing[0]] += max(0, reached - sum(counts.values()))

    @property
    def functions(self) -> list[FunctionCount]:
        """The functions, by line."""
        return [
            FunctionCount(function.name, self._line(function.whole.start), count)
            for function, count in zip(self.index.parts.functions, self._functions, strict=True)
        ]

    @property
    def statements(self) -> list[tuple[int, int]]:
        """The lines of statements, and how often each ran."""
        return [
            (self._line(statement.start), count)
            for number, (statement, count) in enumerate(
                zip(self.index.parts.statements, self._statements, strict=True)
            )
            if self._counts(("statement", number), statement.evaluated)
        ]

    @property
    def lines(self) -> dict[int, int]:
        """How often each line ran that has a statement: the first one of it that ran."""
        found: dict[int, int] = {}
        for line, count in self.statements:
            found[line] = found.get(line) or count
        return dict(sorted(found.items()))

    @property
    def branches(self) -> list[BranchCount]:
        """The branches, by where they start."""
        return [
            BranchCount(
                self._line(branch.whole.start), tuple(ways) if any(ways) else (None,) * len(ways)
            )
            for number, (branch, ways) in enumerate(
                zip(self.index.parts.branches, self._ways, strict=True)
            )
            if self._counts(("branch", number), branch.whole)
        ]

    @property
    def missed_lines(self) -> list[int]:
        """The lines that did not run."""
        return [line for line, count in self.lines.items() if not count]

    @property
    def shares(self) -> tuple[Share, Share, Share, Share]:
        """How much ran of lines, statements, branches and functions."""
        return (
            Share.of(self.lines.values()),
            Share.of(count for _, count in self.statements),
            Share.of(way or 0 for branch in self.branches for way in branch.ways),
            Share.of(function.times for function in self.functions),
        )

    def _counts(self, part: tuple[str, int], place: Range) -> bool:
        """Return whether a part can be executed: it has code, or its function is in no code at all."""
        return part in self._known or self.index.function(place) not in self._with_code

    def _line(self, position: int) -> int:
        return self.source.line(position) or 0


def _entered(places: SourcePlaces, number: int, executions: Mapping[int, int]) -> int:
    """Return how often a function was entered."""
    first = places.first_statements.get(number)
    if entries := places.functions[number]:
        return sum(executions.get(entry, 0) for entry in entries)
    if first is not None:
        # A constructor or a modifier, or what the optimizer has put into others.
        return sum(executions.get(pc, 0) for pc in places.statements[first])
    return max((executions.get(pc, 0) for pc in places.wholes.get(number, ())), default=0)


def _parts_of(source: SourceFile) -> SourceParts:
    try:
        return solidity_parts(source.text or b"")
    except RecursionError:
        log.warning("%s has too many brackets in each other: it is not covered", source.name)
        return SourceParts([], [], [])


class Coverage:
    """The coverage of the sources of contracts.

    Assumes: the contracts that have run are among those that it was made of.
    """

    def __init__(
        self,
        contracts: Iterable[CompiledContract],
        is_counted: Callable[[SourceFile], bool] = lambda _: True,
    ) -> None:
        """Count the parts of all contracts, of sources that `is_counted` says."""
        self._is_counted = is_counted
        self._sources: dict[tuple[str, bytes | None], SourceCoverage] = {}
        self._places: dict[int, list[tuple[SourceCoverage, SourcePlaces]]] = {}
        """The places of each code, by identity: the contracts are kept, too."""
        self._contracts = list(contracts)
        for contract in self._contracts:
            for compiled in (contract.creation, contract.deployed):
                if compiled is not None:
                    for source, places in self._places_of(contract, compiled):
                        source.know(places)

    @property
    def is_inexact(self) -> bool:
        """Whether a contract was compiled with an optimizer, which merges lines and removes some."""
        return any(contract.is_optimized for contract in self._contracts)

    @property
    def has_vyper(self) -> bool:
        """Whether a contract is in Vyper, of which nothing is counted."""
        own = (contract.own_source for contract in self._contracts)
        return any(source is not None and source.is_vyper for source in own)

    @property
    def files(self) -> list[SourceCoverage]:
        """The sources that have anything to execute, by name."""
        found = (source for source in self._sources.values() if source.index.parts.functions)
        return sorted(found, key=lambda it: it.source.name)

    def add(
        self,
        contract: CompiledContract,
        executions: Mapping[int, int],
        taken: Mapping[int, int],
        *,
        is_creation: bool,
    ) -> None:
        """Add what ran of a contract's code: its instructions, and conditional jumps that were taken."""
        compiled = contract.creation if is_creation else contract.deployed
        if compiled is not None:
            for source, places in self._places_of(contract, compiled):
                source.add(places, executions, taken)

    def _places_of(
        self, contract: CompiledContract, compiled: CompiledCode
    ) -> list[tuple[SourceCoverage, SourcePlaces]]:
        found = self._places.get(id(compiled))
        if found is None:
            # Tests and dependencies are most of the code, and their instructions need not be read.
            numbers = compiled.source_map.sources()
            is_counted = any(self._source(contract, number) is not None for number in numbers)
            index_of = partial(self._index, contract)
            read = places_of(compiled, index_of) if is_counted else {}
            pairs = ((self._source(contract, number), own) for number, own in read.items())
            found = self._places[id(compiled)] = [
                (source, own) for source, own in pairs if source is not None
            ]
        return found

    def _index(self, contract: CompiledContract, number: int) -> PartsIndex | None:
        found = self._source(contract, number)
        return None if found is None else found.index

    def _source(self, contract: CompiledContract, number: int) -> SourceCoverage | None:
        source = contract.source(number)
        if source is None or source.text is None or source.is_vyper or not self._is_counted(source):
            return None
        key = source.name, source.text
        if key not in self._sources:
            self._sources[key] = SourceCoverage(source)
        return self._sources[key]
