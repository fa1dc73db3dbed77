"""Reads of a fork, across processes: files for tests without a network, and restarts without the remote."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fork.remote_anvil import CHAIN_ID, remote_anvil
from tests.support.inprocess_node import inprocess_anvil
from tests.support.rpc_client import RpcError


def test_a_fork_runs_from_its_file_and_names_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "fork.sqlite"
    with remote_anvil(is_real=False) as remote:
        url = f"{remote.url}/?key=secret-key@{remote.number}"
        flags = ("--fork-url", url, "--fork-cache", str(file))
        with inprocess_anvil("anvil", *flags, "--fork-header", "X-Key: header-secret") as node:
            assert int(node("eth_call", {"to": remote.counter}, "latest"), 16) == 4
    assert list(tmp_path.iterdir()) == [file]
    before = file.read_bytes()
    assert b"secret" not in before
    assert b"127.0.0.1" not in before
    with inprocess_anvil("anvil", "--offline", "--fork-cache", str(file)) as node:
        assert node("eth_chainId") == hex(CHAIN_ID)
        assert node("eth_blockNumber") == hex(remote.number)
        assert node("eth_getBlockByNumber", "latest", False)["number"] == hex(remote.number)
        assert int(node("eth_call", {"to": remote.counter}, "latest"), 16) == 4
        command = (
            f"record it with `entresol anvil --fork-url <url> --fork-block-number {remote.number} "
            f"--fork-cache {file}`"
        )
        with pytest.raises(RpcError) as caught:
            node("eth_getStorageAt", remote.counter, "0x7", "latest")
        assert f"slot 0x{7:064x} of account {remote.counter} is not in the cache" in str(
            caught.value
        )
        assert command in str(caught.value)
        with pytest.raises(RpcError, match=f"account 0x{'77' * 20} is not in the cache"):
            node("eth_getBalance", "0x" + "77" * 20, "latest")
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_the_first_block_of_a_transaction_is_executed_without_the_remote(tmp_path: Path) -> None:
    file = tmp_path / "fork.sqlite"
    with remote_anvil(is_real=False) as remote:
        chosen = ("--fork-transaction-hash", remote.calls[1])
        kept = ("--fork-cache", str(file))
        with inprocess_anvil("anvil", "-f", remote.url, *chosen, *kept) as node:
            sealed = node("eth_getBlockByNumber", "latest", True)
            receipt = node("eth_getTransactionReceipt", remote.calls[1])
    with inprocess_anvil("anvil", "--offline", *chosen, *kept) as node:
        assert node("eth_getBlockByNumber", "latest", True) == sealed
        assert node("eth_getTransactionReceipt", remote.calls[1]) == receipt
        assert int(node("eth_call", {"to": remote.counter}, "latest"), 16) == 3


def test_a_directory_that_names_its_fork_is_enough_without_the_remote(tmp_path: Path) -> None:
    stored = ("--data-dir", str(tmp_path / "node"), "--l1-port", "0")
    with (
        remote_anvil(is_real=False) as remote,
        inprocess_anvil("--fork-url", remote.url, *stored) as node,
    ):
        number = int(node("eth_blockNumber"), 16)
        assert int(node("eth_call", {"to": remote.counter}, "latest"), 16) == 5
    with inprocess_anvil("--offline", *stored) as node:
        assert node("eth_chainId") == hex(CHAIN_ID)
        assert int(node("eth_blockNumber"), 16) >= number
        assert int(node("eth_call", {"to": remote.counter}, "latest"), 16) == 5
        with pytest.raises(RpcError, match="is not in the cache of the fork"):
            node("eth_getBalance", "0x" + "77" * 20, "latest")
