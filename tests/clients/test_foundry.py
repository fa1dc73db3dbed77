"""cast and forge on both layers, and on `entresol anvil`: traces, calls by hand, scripts, deployments and forks."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.anvil import find_program, running_anvil
from tests.support.clients.accounts import ALICE, NOBODY
from tests.support.clients.layers import running_layers
from tests.support.inprocess_node import inprocess_anvil
from tests.support.polling import PATIENCE_SECONDS
from tests.support.run.environment import tool_environment
from tests.support.run.examples import tries_many

pytestmark = pytest.mark.clients

PROJECT: Final = Path(__file__).parent / "forge"
COMPILER: Final = ("--use", str(PROJECT / "solc.mjs"))
UNLOCKED: Final = ("--broadcast", "--unlocked")
INCREMENT: Final = "increment()"
CHAINS: Final = ("L1", "L2", "anvil", "fork of a fork") if tries_many() else ("L2",)


class Foundry:
    """Foundry's programs, on one chain and in a copy of the project."""

    def __init__(self, url: str, project: Path) -> None:
        self.url = url
        self.project = project

    def __call__(self, program: str, *arguments: str, **environment: str) -> str:
        """Run a program that must succeed, and return what it printed."""
        ran = subprocess.run(
            [find_program(program), *arguments],
            cwd=self.project,
            env=tool_environment(ETH_RPC_URL=self.url, **environment),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def cast(self, *arguments: str) -> str:
        """Run cast."""
        return self("cast", *arguments).strip()

    def send(self, *arguments: str) -> Any:
        """Send a transaction of the first account, which the node signs, and return its receipt."""
        return json.loads(
            self.cast("send", "--unlocked", "--from", ALICE.address, "--json", *arguments)
        )

    def create(self, start: int) -> str:
        """Deploy a counter with `forge create`, and return its address."""
        made = self(
            *("forge", "create", *COMPILER, "src/Counter.sol:Counter", *UNLOCKED, "--json"),
            *("--from", ALICE.address, "--constructor-args", str(start)),
        )
        return str(json.loads(made)["deployedTo"])


@contextmanager
def running_chain(kind: str) -> Iterator[str]:
    """Start a node, and yield the URL of one of its chains."""
    if kind == "anvil":
        with inprocess_anvil("anvil") as node:
            yield node.url
    elif kind == "fork of a fork":
        fork = ("--no-storage-caching", "--fork-url")
        with (
            running_anvil() as remote,
            inprocess_anvil("anvil", *fork, remote.url) as first,
        ):
            first("anvil_mine", "0x2")
            with inprocess_anvil("anvil", *fork, first.url) as node:
                yield node.url
    else:
        with running_layers("embedded") as layers:
            yield layers.url if kind == "L2" else layers.l1_url


@pytest.fixture(scope="module", params=CHAINS)
def foundry(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Foundry]:
    project = tmp_path_factory.mktemp("forge") / "project"
    shutil.copytree(PROJECT, project)
    with running_chain(request.param) as url:
        yield Foundry(url, project)


@pytest.fixture(scope="module")
def counter(foundry: Foundry) -> str:
    return foundry.create(42)


def count(foundry: Foundry, counter: str) -> int:
    return int(foundry.cast("call", counter, "count()(uint256)").split()[0])


def test_a_contract_is_created(foundry: Foundry) -> None:
    assert count(foundry, foundry.create(7)) == 7


def test_a_script_is_broadcast(foundry: Foundry) -> None:
    foundry(
        *("forge", "script", *COMPILER, "script/Deploy.s.sol", *UNLOCKED),
        *("--rpc-url", foundry.url, "--sender", ALICE.address),
    )
    chain = foundry.cast("chain-id")
    written = foundry.project / "broadcast" / "Deploy.s.sol" / chain / "run-latest.json"
    receipts = json.loads(written.read_text(encoding="utf-8"))["receipts"]
    assert [receipt["status"] for receipt in receipts] == ["0x1", "0x1"]
    assert count(foundry, receipts[0]["contractAddress"]) == 42


def test_tests_run_on_a_fork(foundry: Foundry) -> None:
    printed = foundry(
        *("forge", "test", *COMPILER, "--fork-url", foundry.url, "--json"),
        COUNTER=foundry.create(42),
    )
    (results,) = (suite["test_results"] for suite in json.loads(printed).values())
    assert {name: it["status"] for name, it in results.items()} == {
        "test_the_fork_has_the_balance()": "Success",
        "test_the_fork_has_the_counter()": "Success",
    }


def test_a_transaction_is_run_again(foundry: Foundry, counter: str) -> None:
    receipt = foundry.send(counter, INCREMENT)
    printed = foundry.cast("run", receipt["transactionHash"], "--no-proxy")
    assert "Transaction successfully executed." in printed
    assert f"Gas used: {int(receipt['gasUsed'], 16)}" in printed


def test_a_call_is_traced(foundry: Foundry, counter: str) -> None:
    printed = foundry.cast("call", "--trace", counter, INCREMENT, "--from", ALICE.address)
    assert "Transaction successfully executed." in printed
    assert "Gas used:" in printed


def test_a_transaction_is_traced_by_the_node(foundry: Foundry, counter: str) -> None:
    receipt = foundry.send(counter, INCREMENT)
    (frame,) = json.loads(foundry.cast("trace", receipt["transactionHash"]))
    assert frame["action"]["to"] == counter.lower()


def test_a_quoted_number_is_taken(foundry: Foundry) -> None:
    number = '"0x3"'
    before = int(foundry.cast("block-number"))
    foundry.cast("rpc", "anvil_mine", number)
    assert int(foundry.cast("block-number")) == before + 3
    foundry.cast("rpc", "anvil_setBalance", NOBODY, number)
    assert foundry.cast("balance", NOBODY) == "3"
