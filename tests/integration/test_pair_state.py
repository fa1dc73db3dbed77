"""Rollback, reset and state files of a pair: both layers, their batches and the bridge go along."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.inprocess_node import run_command
from tests.support.node_process import running_node
from tests.support.polling import eventually
from tests.support.rollup.pair import RECEIVER, Pair, operating, running_pair, settled_in_metrics
from tests.support.rpc_client import HttpRpcClient, RpcError

STEPS = ("commit", "prove", "execute")


@pytest.fixture
def pair() -> Iterator[Pair]:
    with running_pair("--l1-delay", "0") as started:
        yield started


def received(pair: Pair) -> int:
    return int(pair.l2("eth_getBalance", str(RECEIVER), "latest"), 16)


def heads(pair: Pair) -> tuple[int, int]:
    return int(pair.l1("eth_blockNumber"), 16), int(pair.l2("eth_blockNumber"), 16)


def bridges(pair: Pair) -> None:
    """Deposit, withdraw and claim, which needs batches that both layers agree on."""
    before = received(pair)
    assert pair.arrived(pair.deposit(5))["status"] == "0x1"
    assert received(pair) == before + 5
    withdrawn = pair.withdraw(3)
    assert pair.l1.receipt(pair.claim(withdrawn))["status"] == "0x1"


def test_a_rollback_of_the_l1_takes_the_l2_along(pair: Pair) -> None:
    bridges(pair)
    pair.settled()
    pair.l1("anvil_rollback", heads(pair)[0])
    assert received(pair) == 0
    assert heads(pair)[1] == 0
    bridges(pair)


@pytest.mark.parametrize("method", ["anvil_rollback", "anvil_reorg"])
def test_steps_that_l1_no_longer_has_are_taken_again(method: str) -> None:
    with running_pair("--l1-delay", "0", "--no-settle") as pair:
        sent = pair.send_message(b"settled twice")
        done = [pair.l2(f"anvil_zks_{step}Batch", 1) for step in STEPS]
        assert settled_in_metrics(pair.l2.url) == [1, 1, 1, 1]
        before = heads(pair)[1]
        pair.l1(method, 2)
        assert heads(pair)[1] == before
        details = pair.l2("zks_getL1BatchDetails", 1)
        assert [details[f"{step}TxHash"] for step in STEPS] == [done[0], None, None]
        assert settled_in_metrics(pair.l2.url) == [1, 1, 0, 0]
        tags = [pair.l2("eth_getBlockByNumber", name, False) for name in ("safe", "finalized")]
        assert [int(tag["number"], 16) for tag in tags] == [before, 0]
        for step in STEPS:
            again = pair.l2(f"anvil_zks_{step}Batch", 1)
            assert pair.l1.receipt(again)["status"] == "0x1"
        assert pair.totals() == (1, 1, 1)
        assert pair.proven(sent)["batchNumber"] == 1


def test_a_deposit_that_l1_no_longer_has_comes_into_no_block_of_the_l2(pair: Pair) -> None:
    pair.l2("evm_setAutomine", False)
    pair.l1.receipt(pair.deposit(5))
    eventually(lambda: pair.l2("eth_getBlockByNumber", "pending", False)["transactions"])
    pair.l1("anvil_rollback", 1)
    pair.l2("evm_mine")
    assert received(pair) == 0
    pair.l2("evm_setAutomine", True)
    bridges(pair)


def test_a_reset_starts_both_layers_again(pair: Pair) -> None:
    genesis = [layer("eth_getBlockByNumber", "0x0", False)["hash"] for layer in (pair.l1, pair.l2)]
    for layer in (pair.l1, pair.l2):
        bridges(pair)
        assert layer("anvil_reset") is None
        assert heads(pair)[1] == 0
        assert received(pair) == 0
        assert [
            layer("eth_getBlockByNumber", "0x0", False)["hash"] for layer in (pair.l1, pair.l2)
        ] == genesis
    bridges(pair)


def test_a_file_survives_a_stop_and_restores_both_layers(tmp_path: Path) -> None:
    state, info = tmp_path / "state.json", tmp_path / "info.json"
    flags = ("--state", str(state), "--l1-delay", "0")
    with operating(info, *flags) as pair:
        bridges(pair)
        pair.settled()
        before = received(pair), pair.l2("eth_getBlockByNumber", "latest", False)["hash"]
    with operating(info, *flags) as pair:
        after = received(pair), pair.l2("eth_getBlockByNumber", "latest", False)["hash"]
        assert after == before
        bridges(pair)


def test_a_file_survives_a_kill_within_the_interval(tmp_path: Path) -> None:
    state = tmp_path / "states"
    state.mkdir()
    flags = ("--state", str(state), "--state-interval", "0.2", "--no-l1")
    with running_node(*flags) as node:
        rpc = HttpRpcClient(node.url)
        rpc("anvil_mine", 7)
        eventually(lambda: _best(state / "state.json") == 7)
        rpc.close()
        node.process.send_signal(signal.SIGKILL)
        node.process.wait()
    with running_node(*flags) as node:
        rpc = HttpRpcClient(node.url)
        assert rpc("eth_blockNumber") == "0x7"
        rpc.close()


def _best(path: Path) -> int:
    return int(json.loads(path.read_text())["best_block_number"]) if path.exists() else -1


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--load-state", "missing.json"), "--load-state"),
        (("--load-state", "broken.json", "--no-l1"), "accounts: should be an object"),
        (("--state", "broken.json", "--data-dir", "data"), "--data-dir"),
        (("--l1-load-state", "broken.json", "--no-l1"), "there is no development L1"),
    ],
)
def test_a_file_that_cannot_be_loaded_keeps_the_node_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.json").write_text('{"accounts": 5}')
    ended = run_command(*flags, "--port", "0")
    assert ended.returncode != 0
    assert text in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_rollback_before_the_start_is_rejected_with_the_reason(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with running_pair("--data-dir", data) as pair:
        pair.l2("anvil_mine", 3)
    with running_pair("--data-dir", data) as pair:
        with pytest.raises(RpcError, match="sealed before the node started"):
            pair.l2("anvil_rollback", 2)
        assert heads(pair)[1] >= 3


def test_both_layers_can_start_at_a_number(tmp_path: Path) -> None:
    stored = ("--l1-delay", "0", "--data-dir", str(tmp_path))
    with running_pair("--number", "100", "--l1-number", "1000", *stored) as pair:
        firsts = [
            layer("eth_getBlockByNumber", "earliest", False)["number"]
            for layer in (pair.l1, pair.l2)
        ]
        assert firsts == [hex(1000), hex(100)]
        assert pair.l2("eth_getBlockByNumber", "0x0", False) is None
        bridges(pair)
        pair.settled()
        assert pair.l2("zks_getL1BatchBlockRange", 0) == [hex(100), hex(100)]
        before = heads(pair), received(pair)
    with running_pair(*stored) as pair:
        assert (heads(pair), received(pair)) == before
        bridges(pair)


def open_transfers(pair: Pair) -> list[tuple[str, str, str]]:
    found: dict[str, Any] = pair.l2("entresol_getOpenTransfers")
    assert found["next"] is None
    return [
        (transfer["kind"], transfer["status"], transfer["transactionHash"])
        for transfer in found["transfers"]
    ]


def test_a_withdrawal_is_listed_until_it_is_claimed_and_again_after_a_revert() -> None:
    with running_pair() as pair:
        name = pair.withdraw()
        claimable = [("withdrawal", "claimable", name)]
        pair.l2("anvil_mine", "0x64")
        eventually(lambda: open_transfers(pair) == claimable)
        snapshot = pair.l2("evm_snapshot")
        pair.claim(name)
        eventually(lambda: open_transfers(pair) == [])
        assert pair.l2("evm_revert", snapshot) is True
        assert open_transfers(pair) == claimable
        pair.claim(name)
        eventually(lambda: open_transfers(pair) == [])
