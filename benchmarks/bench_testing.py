"""Tests in Python: transfers by web3.py, and isolated cases of pytest, beside anvil and eth-tester."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from web3 import EthereumTesterProvider, HTTPProvider, Web3

from benchmarks.harness import Peer, Row, Target
from entresol import devnet
from tests.support.anvil import running_anvil
from tests.support.clients.tools import PytestRuns
from tests.support.node_process import running_node

TRANSFERS: Final = 1_000
ROUND_TRANSFERS: Final = 50
CASES: Final = 200
ROUNDS: Final = 3
POLL_SECONDS: Final = 0.001
"""How often web3.py looks for a receipt; by default it sleeps longer than any of them takes."""

CASE: Final = f"""
@pytest.mark.parametrize("number", range(int(os.environ["CASES"])))
def test_a_transfer(l2, number):
    alice, bob = l2.eth.accounts[:2]
    assert l2.eth.get_balance(bob) == 10_000 * 10**18
    sent = l2.eth.send_transaction({{"from": alice, "to": bob, "value": number + 1}})
    receipt = l2.eth.wait_for_transaction_receipt(sent, poll_latency={POLL_SECONDS})
    assert receipt["status"] == 1
    assert l2.eth.get_balance(bob) == 10_000 * 10**18 + number + 1
"""
BY_FIXTURES: Final = f"import os\nimport pytest\n{CASE}"
BY_HAND: Final = f"""
import os
import pytest
from web3 import HTTPProvider, Web3

from tests.support.anvil import running_anvil

@pytest.fixture(scope="session")
def running():
    with running_anvil("--prune-history") as anvil:
        yield Web3(HTTPProvider(anvil.url))

@pytest.fixture
def l2(running):
    snapshot = running.provider.make_request("evm_snapshot", [])["result"]
    yield running
    running.provider.make_request("evm_revert", [snapshot])
{CASE}"""


def rows() -> Iterable[Row]:
    """Measure transfers one by one, then whole runs of pytest."""
    rates = _rates()
    ours = rates.pop("in-process")
    for name, rate in rates.items():
        yield Row(
            what=f"{TRANSFERS:,} transfers by web3.py, in-process",
            value=ours,
            unit="/s",
            peer=Peer(name, rate),
            target=Target(rate, "at least"),
        )
    with tempfile.TemporaryDirectory() as folder:
        fixtures, by_hand = _run_in_turns(Path(folder), BY_FIXTURES, BY_HAND)
    peer = "anvil, by hand"
    yield Row(
        what=f"pytest, {CASES} isolated cases",
        value=fixtures.all_cases,
        unit="s",
        peer=Peer(peer, by_hand.all_cases),
        note="from the command to its end",
    )
    ours, theirs = (
        (run.all_cases - run.one_case) / (CASES - 1) * 1e3 for run in (fixtures, by_hand)
    )
    yield Row(what="each further case", value=ours, unit="ms", peer=Peer(peer, theirs))


def _clients() -> dict[str, Callable[[], Any]]:
    """Return what starts each of the chains, as contexts of a client."""
    found: dict[str, Callable[[], Any]] = {
        "in-process": _in_process,
        "HTTP": _node_over_http,
        "anvil": _anvil,
    }
    return {**found, "eth-tester": _eth_tester} if find_spec("eth_tester") else found


@contextmanager
def _in_process() -> Iterator[Web3]:
    with devnet(l1=False) as net:
        yield net.l2.w3


@contextmanager
def _node_over_http() -> Iterator[Web3]:
    with running_node("--no-l1") as node:
        yield Web3(HTTPProvider(node.url))


@contextmanager
def _anvil() -> Iterator[Web3]:
    with running_anvil() as anvil:
        yield Web3(HTTPProvider(anvil.url))


@contextmanager
def _eth_tester() -> Iterator[Web3]:
    yield Web3(EthereumTesterProvider())


def _rates() -> dict[str, float]:
    """Return how many transfers a second have a receipt: the medians of rounds that alternate."""
    with ExitStack() as stack:
        clients = {name: stack.enter_context(client()) for name, client in _clients().items()}
        rounds = [
            {name: _transfers_per_second(w3) for name, w3 in clients.items()}
            for _ in range(TRANSFERS // ROUND_TRANSFERS)
        ]
    return {name: median(round_[name] for round_ in rounds) for name in clients}


def _transfers_per_second(w3: Web3) -> float:
    alice, bob = list(w3.eth.accounts)[:2]
    transaction: Any = {"from": alice, "to": bob, "value": 1}
    start = time.perf_counter()
    for _ in range(ROUND_TRANSFERS):
        sent = w3.eth.send_transaction(transaction)
        w3.eth.wait_for_transaction_receipt(sent, poll_latency=POLL_SECONDS)
    return ROUND_TRANSFERS / (time.perf_counter() - start)


class RunSeconds(NamedTuple):
    """How long pytest takes from the command to its end."""

    one_case: float
    all_cases: float


def _run_in_turns(folder: Path, *texts: str) -> list[RunSeconds]:
    """Return how long the tests of each text take, in the best of rounds that alternate."""
    runs = []
    for number, text in enumerate(texts):
        (folder / str(number)).mkdir()
        runs.append(PytestRuns(folder / str(number)))
        runs[-1].write(test_cases=text)
    rounds = [
        [(_run_seconds(run, 1), _run_seconds(run, CASES)) for run in runs] for _ in range(ROUNDS)
    ]
    best = [
        [min(seconds) for seconds in zip(*own, strict=True)] for own in zip(*rounds, strict=True)
    ]
    return [RunSeconds(*seconds) for seconds in best]


def _run_seconds(runs: PytestRuns, cases: int) -> float:
    start = time.perf_counter()
    ran = runs.run("-q", CASES=str(cases))
    seconds = time.perf_counter() - start
    assert f"{cases} passed" in ran.stdout, ran.stdout
    return seconds
