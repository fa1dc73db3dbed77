"""`entresol --fork-url` and `--l1-fork-url`: layers of a node that are copies of a real anvil's chain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from entresol import devnet
from entresol.errors import InvalidConfig
from tests.support.fork.remote_anvil import (
    CHAIN_ID,
    RemoteAnvil,
    remote_anvil,
)
from tests.support.inprocess_node import inprocess_anvil, run_command
from tests.support.rpc_client import RpcError, health_of

FLAGS = ("--l1-port", "0", "--no-storage-caching")


@pytest.fixture(scope="module")
def remote() -> Iterator[RemoteAnvil]:
    with remote_anvil(is_real=False) as found:
        yield found


def test_the_l2_is_a_copy_and_settles_on_the_development_l1(
    remote: RemoteAnvil, tmp_path: Path
) -> None:
    output = tmp_path / "output"
    url = f"{remote.url}@{remote.number}"
    with inprocess_anvil("--fork-url", url, *FLAGS, "--workers", "2", output=output) as node:
        assert (node("eth_chainId"), int(node("eth_blockNumber"), 16)) == (
            hex(CHAIN_ID),
            remote.number,
        )
        assert "--workers: a fork is served by one process" in output.read_text()
        assert health_of(node.url)[1]["fork"]["blockNumber"] == remote.number
        account = node("eth_accounts")[0]
        sent = node("eth_sendTransaction", {"from": account, "to": remote.counter})
        receipt = node("eth_getTransactionReceipt", sent)
        assert receipt["logs"][0]["data"].endswith("04")
        # A block of the L2 has the price of an L2, and the time of the anchor.
        assert receipt["effectiveGasPrice"] == hex(100_000_000)
        assert node("anvil_zks_commitBatch", "0x1")
        node("hardhat_reset", {"forking": {"blockNumber": 2}})
        assert node("eth_blockNumber") == "0x2"
        node("anvil_reset")
        assert (node("eth_blockNumber"), node("eth_chainId")) == ("0x0", hex(CHAIN_ID))


def test_the_development_l1_takes_another_id_than_a_copy_of_31337(tmp_path: Path) -> None:
    written = tmp_path / "config.json"
    with (
        inprocess_anvil("anvil") as remote,
        inprocess_anvil("--fork-url", remote.url, *FLAGS, "--config-out", str(written)) as node,
    ):
        assert node("eth_chainId") == "0x7a69"
        found = json.loads(written.read_text())
        assert found["l1"]["chain_id"] == 31338
        assert found["fork"]["chain_id"] == 31337


def test_two_copies_of_one_chain_id_are_rejected(remote: RemoteAnvil) -> None:
    ended = run_command(
        "--fork-url", remote.url, "--l1-fork-url", remote.url, "--port", "0", *FLAGS
    )
    assert ended.returncode == 2
    assert f"--l1-fork-url: both layers would have the chain id {CHAIN_ID}" in ended.stderr


def test_a_chain_on_disk_stays_on_its_block_and_serves_without_its_remote(tmp_path: Path) -> None:
    flags = ("--no-l1", "--data-dir", str(tmp_path / "data"), "--fork-retries", "0")
    with remote_anvil(is_real=False) as remote:
        with inprocess_anvil("--fork-url", remote.url, *flags) as node:
            anchor = node("eth_blockNumber")
            account = node("eth_accounts")[0]
            sent = node("eth_sendTransaction", {"from": account, "to": remote.counter})
        remote.node("anvil_mine", "0x5")
        with inprocess_anvil("--fork-url", remote.url, *flags) as node:
            assert int(node("eth_blockNumber"), 16) == int(anchor, 16) + 1
    with inprocess_anvil("--fork-url", remote.url, *flags) as node:
        assert node("eth_getTransactionReceipt", sent)["status"] == "0x1"
        assert int(node("eth_getStorageAt", remote.counter, "0x0", "latest"), 16) == 5
        with pytest.raises(RpcError, match="cannot be asked"):
            node("eth_getBalance", "0x" + "77" * 20, "latest")
    for command in ("rebuild", "verify"):
        ended = run_command(command, "--no-l1", "--data-dir", str(tmp_path / "data"))
        assert ended.returncode == 0, ended.stderr


def test_a_devnet_rejects_what_cannot_be_combined() -> None:
    with pytest.raises(InvalidConfig, match="--chains"):
        devnet(fork_url="http://127.0.0.1:1", chains=2).start()
