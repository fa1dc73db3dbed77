"""What ran of the sources of contracts, in all codes that have them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from entresol.sources.coverage.counts import SourceCoverage
from entresol.sources.coverage.places import places_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from entresol.sources.compiled import CompiledCode, CompiledContract
    from entresol.sources.coverage.index import PartsIndex
    from entresol.sources.coverage.places import SourcePlaces
    from entresol.sources.source_file import SourceFile


class Coverage:
    """What ran of the sources of contracts.

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
        """Of each code, by identity: the contracts are kept, too."""
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
            pairs = ((self._source(contract, number), it) for number, it in read.items())
            found = self._places[id(compiled)] = [(it, own) for it, own in pairs if it is not None]
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
