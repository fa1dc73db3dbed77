"""What a fork has read, across processes: exports for tests without a network, and restarts without the remote."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from entresol.cli.main import main
from tests.support.anvil import running_anvil
from tests.support.fork.remote_anvil import ANVIL, CHAIN_ID, NODE, remote_anvil
from tests.support.rpc_client import RpcError

pytestmark = pytest.mark.peer


def test_a_fork_runs_from_its_export_and_names_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "fork.jsonl"
    with remote_anvil() as remote:
        url = f"{remote.url}/?key=secret-key@{remote.number}"
        flags = ("--fork-url", url, "--fork-cache", str(file))
        with running_anvil(*flags, "--fork-header", "X-Key: header-secret", program=ANVIL) as node:
            assert int(node("eth_call", {"to": remote.counter}, "latest"), 16) == 4
    beside = (tmp_path / "fork.jsonl.new").read_bytes()
    assert main(["cache", "export", str(file)]) == 0
    assert [it.name for it in tmp_path.iterdir()] == ["fork.jsonl"]
    before = file.read_bytes()
    for text in (beside, before):
        assert b"secret" not in text
        assert b"127.0.0.1" not in text
    with running_anvil("--offline", "--fork-cache", str(file), program=ANVIL) as node:
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
    assert [it.name for it in tmp_path.iterdir()] == ["fork.jsonl"]


def test_a_node_on_disk_serves_what_it_has_read_when_the_remote_is_away(tmp_path: Path) -> None:
    with ExitStack() as stack:
        remote = stack.enter_context(remote_anvil())
        flags = ("--fork-url", remote.url, "--data-dir", str(tmp_path / "node"), "--l1-port", "0")
        with running_anvil(*flags, program=NODE) as node:
            number = node("eth_blockNumber")
            assert int(node("eth_call", {"to": remote.counter}, "latest"), 16) == 5
        stack.pop_all().close()
    patience = ("--fork-timeout", "2", "--fork-retries", "0")
    with running_anvil(*flags, *patience, program=NODE) as node:
        assert int(node("eth_blockNumber"), 16) >= int(number, 16)
        assert int(node("eth_call", {"to": remote.counter}, "latest"), 16) == 5
        with pytest.raises(RpcError, match="cannot be asked"):
            node("eth_getBalance", "0x" + "77" * 20, "latest")
