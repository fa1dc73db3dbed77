"""`entresol anvil --fork-url` in place of anvil, at a real anvil: what devnode tools rely on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.anvil import Anvil, running_anvil
from tests.support.contracts.stack_trace_cases import FailingContracts, cases_of
from tests.support.fork.remote_anvil import (
    CHAIN_ID,
    STRANGER,
    RemoteAnvil,
    remote_anvil,
)
from tests.support.inprocess_node import inprocess_anvil
from tests.support.rpc_client import HttpRpcClient, RpcError

ETHER = 10**18


@pytest.fixture(scope="module")
def remote() -> Iterator[RemoteAnvil]:
    with remote_anvil() as found:
        yield found


@pytest.fixture(scope="module")
def process(remote: RemoteAnvil, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Anvil]:
    cache = tmp_path_factory.mktemp("cache")
    flags = ("-f", f"{remote.url}@{remote.number}", "--fork-cache", str(cache))
    with inprocess_anvil("anvil", *flags) as node:
        yield node


@pytest.fixture
def fork(process: Anvil, remote: RemoteAnvil) -> Anvil:
    """Return the fork as it was at the start."""
    process("anvil_reset", {"forking": {"jsonRpcUrl": remote.url, "blockNumber": remote.number}})
    return process


@pytest.fixture
def peer(remote: RemoteAnvil) -> Iterator[Anvil]:
    """Return anvil's own fork of the same block."""
    with running_anvil("-f", remote.url, "--fork-block-number", str(remote.number)) as node:
        yield node


def send(node: Anvil, **fields: str) -> dict[str, Any]:
    sent = node("eth_sendTransaction", {"from": node("eth_accounts")[0], **fields})
    receipt: dict[str, Any] = node("eth_getTransactionReceipt", sent)
    return receipt


def test_it_starts_as_anvils_fork_does(fork: Anvil, peer: Anvil, remote: RemoteAnvil) -> None:
    for method in ("eth_chainId", "eth_blockNumber", "net_version", "eth_accounts"):
        assert fork(method) == peer(method), method
    assert (
        fork("eth_getBlockByNumber", "latest", False)["hash"] == remote.block(remote.number)["hash"]
    )
    for account in remote.accounts[:2]:
        for method in ("eth_getTransactionCount", "eth_getBalance", "eth_getCode"):
            assert fork(method, account, "latest") == peer(method, account, "latest"), method


def test_the_first_local_block_follows_the_rules_of_the_anchor(
    fork: Anvil, peer: Anvil, remote: RemoteAnvil
) -> None:
    blocks = []
    for node in (fork, peer):
        node("anvil_mine", "0x1")
        blocks.append(node("eth_getBlockByNumber", "latest", False))
    ours, theirs = blocks
    anchor = remote.block(remote.number)
    for field in ("number", "parentHash", "gasLimit", "baseFeePerGas"):
        assert ours[field] == theirs[field], field
    assert ours["parentHash"] == anchor["hash"]
    # The clock goes on from the anchor.
    assert 0 < int(ours["timestamp"], 16) - int(anchor["timestamp"], 16) < 60


def test_state_is_local_over_remote(fork: Anvil, remote: RemoteAnvil) -> None:
    call = {"to": remote.counter}
    assert int(fork("eth_call", call, "latest"), 16) == 4
    assert send(fork, to=remote.counter)["logs"][0]["data"].endswith("04")
    assert int(fork("eth_getStorageAt", remote.counter, "0x0", "latest"), 16) == 4
    assert int(fork("eth_getStorageAt", remote.counter, "0x0", hex(remote.number)), 16) == 3
    assert fork("eth_getCode", remote.counter, "latest") == remote.node(
        "eth_getCode", remote.counter, "latest"
    )
    send(fork, to=STRANGER, value="0x5")
    assert fork("eth_getBalance", STRANGER, "latest") == hex(12)


def test_the_node_says_what_it_is_a_fork_of(fork: Anvil, remote: RemoteAnvil) -> None:
    anchor = remote.block(remote.number)
    network = {
        "chainId": CHAIN_ID,
        "forkBlockNumber": remote.number,
        "forkBlockHash": anchor["hash"],
    }
    assert fork("anvil_metadata")["forkedNetwork"] == network
    assert fork("hardhat_metadata")["forkedNetwork"] == network
    assert fork("anvil_nodeInfo")["forkConfig"] == {
        "forkUrl": remote.url,
        "forkBlockNumber": remote.number,
        "forkRetryBackoff": 1000,
    }


@pytest.mark.parametrize("method", ["anvil_reset", "hardhat_reset"])
def test_a_reset_without_a_number_stands_on_the_latest_block(
    fork: Anvil, remote: RemoteAnvil, method: str
) -> None:
    fork(method, {"forking": {"jsonRpcUrl": remote.url}})
    assert fork("eth_blockNumber") == remote.node("eth_blockNumber")
    fork(method, {"forking": {"blockNumber": hex(2)}})
    assert fork("eth_blockNumber") == "0x2"
    fork(method, {"forking": {}})
    assert fork("eth_blockNumber") == remote.node("eth_blockNumber")


def test_a_reset_keeps_the_sources_that_clients_have_added(
    fork: Anvil, remote: RemoteAnvil
) -> None:
    contracts = FailingContracts(fork)
    fork("hardhat_reset", {"forking": {"jsonRpcUrl": remote.url}})
    (case,) = (case for case in cases_of("plain") if case.name == "internal functions")
    assert contracts.lines(case) == case.hardhat


@pytest.mark.parametrize("method", ["anvil_reset", "hardhat_reset"])
def test_a_reset_without_options_ends_the_fork_and_keeps_the_chain_id(
    fork: Anvil, method: str
) -> None:
    fork(method)
    assert (fork("eth_blockNumber"), fork("eth_chainId")) == ("0x0", hex(CHAIN_ID))
    assert fork("eth_getBalance", STRANGER, "latest") == "0x0"
    assert fork("anvil_metadata")["forkedNetwork"] is None
    assert "forkedNetwork" not in fork("hardhat_metadata")
    assert send(fork, to=STRANGER, value="0x1")["status"] == "0x1"


def test_a_reset_that_fails_leaves_the_fork_as_it_was(fork: Anvil, remote: RemoteAnvil) -> None:
    fork("anvil_mine", "0x1")
    for options in (
        {"forking": {"blockNumber": 10**9}},
        {"forking": {"jsonRpcUrl": "ws://127.0.0.1:1"}},
        {"forking": {"jsonRpcUrl": "file:///etc/passwd"}},
        {"forking": {"jsonRpcUrl": 5}},
        {"forking": {"jsonRpcUrl": fork.url}},
        {"forking": {"jsonRpcUrl": fork.url.replace("127.0.0.1", "localhost")}},
    ):
        with pytest.raises(RpcError) as rejection:
            fork("anvil_reset", options)
        assert rejection.value.code in {-32000, -32602}, options
        assert int(fork("eth_blockNumber"), 16) == remote.number + 1


def test_calls_go_on_while_the_fork_is_replaced(fork: Anvil, remote: RemoteAnvil) -> None:
    failures: list[RpcError] = []
    done = threading.Event()

    def call() -> None:
        client = HttpRpcClient(fork.url)
        while not done.is_set():
            try:
                client("eth_call", {"to": remote.counter}, "latest")
            except RpcError as error:
                failures.append(error)
        client.close()

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for number in (3, 4, 5):
            fork("anvil_reset", {"forking": {"blockNumber": number}})
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not failures
    assert fork("eth_blockNumber") == "0x5"


def test_another_url_of_the_same_chain_can_be_set(fork: Anvil, remote: RemoteAnvil) -> None:
    other = remote.url.replace("127.0.0.1", "localhost")
    assert fork("anvil_setRpcUrl", other) is None
    assert fork("anvil_nodeInfo")["forkConfig"]["forkUrl"] == other
    assert int(fork("eth_call", {"to": remote.counter}, "latest"), 16) == 4
    with pytest.raises(RpcError, match="the node itself"):
        fork("anvil_setRpcUrl", fork.url)
    with running_anvil() as stranger, pytest.raises(RpcError):
        fork("anvil_setRpcUrl", stranger.url)


def test_a_node_that_is_no_fork_becomes_one(remote: RemoteAnvil) -> None:
    with inprocess_anvil("anvil") as node:
        with pytest.raises(RpcError, match="Forking not enabled"):
            node("anvil_reset", {"forking": {"blockNumber": 1}})
        assert node("anvil_setRpcUrl", remote.url) is None
        node("anvil_reset", {"forking": {"jsonRpcUrl": remote.url, "blockNumber": 4}})
        assert (node("eth_blockNumber"), node("eth_chainId")) == ("0x4", hex(CHAIN_ID))


def test_the_transactions_of_a_block_up_to_one_are_the_first_local_block(
    remote: RemoteAnvil,
) -> None:
    flags = ("-f", remote.url, "--fork-transaction-hash", remote.calls[1], "--no-storage-caching")
    with inprocess_anvil("anvil", *flags) as node:
        theirs = remote.node("eth_getTransactionReceipt", remote.calls[1])
        ours = node("eth_getTransactionReceipt", remote.calls[1])
        assert ours["blockNumber"] == theirs["blockNumber"] == node("eth_blockNumber")
        for field in ("status", "gasUsed", "effectiveGasPrice", "transactionIndex"):
            assert ours[field] == theirs[field], field
        assert int(node("eth_call", {"to": remote.counter}, "latest"), 16) == 3
        assert (
            node("anvil_metadata")["forkedNetwork"]["forkBlockNumber"]
            == int(ours["blockNumber"], 16) - 1
        )
