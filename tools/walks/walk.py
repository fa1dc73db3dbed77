"""One walk: the calls that every round of the same request had, and what is counted of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from tools.walks.floors import package_of
from tools.walks.interfaces import Interfaces
from tools.walks.recorder import NATIVE, Function

EVENTS: Final = ("chain/events.py", "listeners.py")
"""Who calls listeners: they are told what happened, and nobody waits for what they do with it."""
RUNNERS: Final = ("background_task.py", "offload.py", "rollup/step_loop.py")
"""Who runs what it was made for: tasks, work for a thread, steps of a service."""

WayUp: TypeAlias = Literal["events", "tasks", "interfaces"]
"""How a lower floor may run code of a higher one: it tells it something, it is there to run it, or it declares it."""

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

    def climbs(self, interfaces: Interfaces) -> list[Hop]:
        """Return the hops from a lower floor to a higher one, but for those of the other columns."""
        return [it for it in self._rising(interfaces) if _way_up(it, interfaces) is None]

    def ways_up(self, interfaces: Interfaces) -> Counter[WayUp]:
        """Count the hops from a lower floor to a higher one that are not climbs."""
        ways = (_way_up(it, interfaces) for it in self._rising(interfaces))
        return Counter(it for it in ways if it is not None)

    @property
    def crossings(self) -> int:
        """How often Python called the crate, or the crate called Python."""
        return sum(
            times
            for (caller, callee), times in self.calls.items()
            if callee[0] == NATIVE or (caller is not None and caller[0] == NATIVE)
        )

    def _rising(self, interfaces: Interfaces) -> Iterator[Hop]:
        floors = interfaces.floors
        for hop in self.changes:
            if floors[package_of(hop.caller[0])] < floors[package_of(hop.callee[0])]:
                yield hop


def _way_up(hop: Hop, interfaces: Interfaces) -> WayUp | None:
    """Return why a hop from a lower floor to a higher one is not a climb; None if it is one."""
    if hop.caller[0] in EVENTS:
        return "events"
    # A coroutine runs where it is awaited, which is not where it was made.
    if hop.caller[0] in RUNNERS or hop.callee in interfaces.coroutines:
        return "tasks"
    return "interfaces" if interfaces.declares(hop.caller[0], hop.callee) else None


def merged(processes: Iterable[Calls]) -> Calls:
    """Return the calls of several processes as those of one."""
    calls: dict[tuple[Function | None, Function], int] = {}
    for process in processes:
        for call, times in process.items():
            calls[call] = calls.get(call, 0) + times
    return calls
