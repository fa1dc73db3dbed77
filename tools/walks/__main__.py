"""Prints what requests pass on their way: `python -m tools.walks [--list] [name …]`."""

from __future__ import annotations

import argparse

from tools.walks.floors import floors
from tools.walks.interfaces import Interfaces
from tools.walks.processes import injected
from tools.walks.scenarios import SCENARIOS
from tools.walks.walk import Walk

COLUMNS = ("files", "hops", "packages", "climbs", "events", "tasks", "interfaces", "crossings")


def main() -> None:
    """Follow the requests whose names contain one of the words, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m tools.walks", description=__doc__)
    parser.add_argument("words", nargs="*", help="words of the walks' names")
    parser.add_argument("--list", action="store_true", help="print every hop, too")
    arguments = parser.parse_args()
    chosen = {
        name: scenario
        for name, scenario in SCENARIOS.items()
        if not arguments.words or any(word in name for word in arguments.words)
    }
    print(f"{'':40}" + "".join(f"{it:>11}" for it in COLUMNS))
    interfaces = Interfaces(floors())
    for name, scenario in chosen.items():
        with injected() as folder:
            walk = scenario(folder)
        rising, ways = walk.climbs(interfaces), walk.ways_up(interfaces)
        counts = (
            *(len(walk.files), len(walk.hops), len(walk.changes)),
            *(len(rising), ways["events"], ways["tasks"], ways["interfaces"], walk.crossings),
        )
        print(f"{name:40}" + "".join(f"{it:>11}" for it in counts))
        for climb in rising:
            print(f"    climbs: {climb}")
        if arguments.list:
            _print_hops(walk)


def _print_hops(walk: Walk) -> None:
    for hop in walk.hops:
        print(f"    {hop}")


main()
