"""One walk: the calls that every round of the same request had, and what is counted of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from tools.walks.floors import package_of
from tools.walks.recorder import NATIVE, Function

EVENTS: Final = "chain/events.py"
"""Who calls listeners: they are told what happened, and nobody waits for what they do with it."""

Calls: TypeAlias = Mapping[tuple[Function | None, Function], int]


class Hop(NamedTuple):
    """A call from a function to one in another file."""

    caller: Function
    callee: Function

    def __str__(self) -> str:
        return f"{self.caller[0]}:{self.caller[1]} -> {self.callee[0]}:{self.callee[1]}"


class Walk(NamedTuple):
    """The calls of a request, each with how often it happened."""

    calls: Calls

    @classmethod
    def of_rounds(cls, rounds: Sequence[Calls]) -> Walk:
        """Return what all rounds have in common, so that work in the background does not count."""
        common = set.intersection(*(set(it) for it in rounds))
        return cls({call: min(it[call] for it in rounds) for call in common})

    @property
    def files(self) -> set[str]:
        """The files whose functions ran."""
        return {callee[0] for _, callee in self.calls} - {NATIVE}

    @property
    def hops(self) -> list[Hop]:
        """The distinct calls from one file to another, within Python."""
        return sorted(
            Hop(caller, callee)
            for caller, callee in self.calls
            if caller is not None
            and NATIVE not in (caller[0], callee[0])
            and caller[0] != callee[0]
        )

    @property
    def changes(self) -> list[Hop]:
        """The hops from one package to another, but for expressions that a function iterates over."""
        return [
            it
            for it in self.hops
            if package_of(it.caller[0]) != package_of(it.callee[0])
            and not it.callee[1].endswith("<genexpr>")
        ]

    def climbs(self, floors: Mapping[str, int]) -> list[Hop]:
        """Return the hops from a lower floor to a higher one, but for those of events."""
        return [it for it in self._rising(floors) if it.caller[0] != EVENTS]

    def events(self, floors: Mapping[str, int]) -> list[Hop]:
        """Return the hops by which listeners on a higher floor are told what happened."""
        return [it for it in self._rising(floors) if it.caller[0] == EVENTS]

    @property
    def crossings(self) -> int:
        """How often Python called the crate, or the crate called Python."""
        return sum(
            times
            for (caller, callee), times in self.calls.items()
            if callee[0] == NATIVE or (caller is not None and caller[0] == NATIVE)
        )

    def _rising(self, floors: Mapping[str, int]) -> Iterator[Hop]:
        for hop in self.changes:
            if floors[package_of(hop.caller[0])] < floors[package_of(hop.callee[0])]:
                yield hop


def merged(processes: Iterable[Calls]) -> Calls:
    """Return the calls of several processes as those of one."""
    calls: dict[tuple[Function | None, Function], int] = {}
    for process in processes:
        for call, times in process.items():
            calls[call] = calls.get(call, 0) + times
    return calls
