"""What counting gas and coverage costs: a devnet that counts beside two that do not, and whole runs of pytest.

Requests are measured by the CPU time of the process, in which one devnet works at a time: other processes do not matter.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from itertools import cycle, islice, permutations
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.harness import Peer, Row, Target
from entresol import Devnet, devnet
from tests.support.clients.tools import PytestRuns
from tests.support.contracts.shop import ShopRun
from tests.support.features.debugger.covered_contracts import FOLDER

ROUNDS: Final = 30
RUNS: Final = 3
CALLS: Final = 200
TRANSFERS: Final = 50
OFF_SHARE: Final = 1.05
"""Of what another devnet takes that does not count, either: what differs is noise."""

OFF, OTHER, ON = "off", "another that is off", "on"

STEPS: Final = """
import pytest
from tests.support.features.debugger.covered_contracts import CoveredContracts, steps

@pytest.mark.parametrize("number", range(8))
def test_steps(isolated_devnet, number):
    CoveredContracts(isolated_devnet.l2.request).take(steps())
"""
SETTINGS: Final = """
import pytest

@pytest.fixture(scope="session")
def devnet_settings():
    return {"sources": ["out"], "l1": False}
"""
FLAGS: Final = ("--entresol-gas", "--entresol-coverage")


def rows() -> Iterable[Row]:
    """Measure requests to each of the devnets in turn, then runs of pytest in turn."""
    with ExitStack() as stack:
        nets = {name: stack.enter_context(devnet(l1=False)) for name in (OFF, OTHER, ON)}
        nets[ON].profile()
        for what, count, work in _works():
            taken = _request_micros(nets, count, work)
            peer, target = Peer(OTHER, taken[OTHER]), Target(OFF_SHARE * taken[OTHER], "at most")
            yield Row(what=f"{what}, {OFF}", value=taken[OFF], unit="µs", peer=peer, target=target)
            yield Row(what=f"{what}, {ON}", value=taken[ON], unit="µs", peer=Peer(OFF, taken[OFF]))
    with tempfile.TemporaryDirectory() as folder:
        seconds = _run_seconds(PytestRuns(Path(folder)))
    for flag in FLAGS:
        without = Peer("without", seconds[""])
        yield Row(what=f"pytest {flag}", value=seconds[flag], unit="s", peer=without)


def _works() -> Iterable[tuple[str, int, Callable[[Devnet], None]]]:
    """Return what is measured: its name, how many requests it has, and what makes them."""
    return (
        ("transfers", TRANSFERS, _transfer),
        ("transactions of contracts", 14, lambda net: ShopRun(net.l2.request).run()),
        ("calls", CALLS, _call),
    )


def _transfer(net: Devnet) -> None:
    alice, bob = net.l2.request("eth_accounts")[:2]
    for _ in range(TRANSFERS):
        net.l2.request("eth_sendTransaction", {"from": alice, "to": bob, "value": "0x1"})


def _call(net: Devnet) -> None:
    # A loop of some hundred steps, which returns nothing; with a number, so that no result is cached.
    for number in range(CALLS):
        net.l2.request("eth_call", {"data": f"0x60645b600190038060025700{number:08x}"}, "latest")


def _request_micros(
    nets: dict[str, Devnet], count: int, work: Callable[[Devnet], None]
) -> dict[str, float]:
    """Return the CPU time of a request to each devnet: the median of rounds in every order."""
    taken: dict[str, list[float]] = {name: [] for name in nets}
    for names in islice(cycle(permutations(nets)), ROUNDS):
        for name in names:
            start = time.process_time()
            work(nets[name])
            taken[name].append(time.process_time() - start)
    return {name: median(it) / count * 1e6 for name, it in taken.items()}


def _run_seconds(runs: PytestRuns) -> dict[str, float]:
    """Return how long a run of pytest takes without and with each flag: the best of rounds that alternate."""
    shutil.copytree(FOLDER / "contracts", runs.folder / "contracts")
    (runs.folder / "out").mkdir()
    shutil.copy(FOLDER / "plain-output.json", runs.folder / "out")
    runs.write(conftest=SETTINGS, test_steps=STEPS)
    rounds = [{flag: _run(runs, flag) for flag in ("", *FLAGS)} for _ in range(RUNS)]
    return {flag: min(round_[flag] for round_ in rounds) for flag in ("", *FLAGS)}


def _run(runs: PytestRuns, flag: str) -> float:
    start = time.perf_counter()
    ran = runs.run("-q", *filter(None, [flag]))
    seconds = time.perf_counter() - start
    assert ran.returncode == 0, ran.stdout
    return seconds
