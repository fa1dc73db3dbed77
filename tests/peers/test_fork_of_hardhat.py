"""A fork of a chain that a node of Hardhat has: other members, other methods, and blocks that it mines many at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.support.anvil import Anvil, running_anvil
from tests.support.clients.javascript import node_program
from tests.support.fork.remote_anvil import COUNTER, STRANGER
from tests.support.inprocess_node import inprocess_anvil
from tests.support.rpc_client import HttpRpcClient

pytestmark = pytest.mark.peer

SCRIPT: Final = Path(__file__).parents[1] / "support" / "fork" / "hardhat_node.cjs"
MANY: Final = 300
"""More blocks than are named by hash, and than `BLOCKHASH` reaches."""
BLOCK_HASH: Final = "0x5f35405f5260205ff3"
"""Returns the hash of the block whose number is the calldata."""


class RemoteHardhat(NamedTuple):
    """A chain of Hardhat's, with blocks after the one that forks stand on."""

    node: HttpRpcClient
    account: str
    counter: str
    calls: list[str]
    number: int


@pytest.fixture(scope="module")
def remote() -> Iterator[RemoteHardhat]:
    with (
        running_anvil(program=(node_program(), str(SCRIPT))) as started,
        closing(HttpRpcClient(started.url)) as node,
    ):
        account = node("eth_accounts")[0]
        created = node("eth_sendTransaction", {"from": account, "data": COUNTER})
        counter = node("eth_getTransactionReceipt", created)["contractAddress"]
        call = {"from": account, "to": counter}
        calls = [node("eth_sendTransaction", call) for _ in range(2)]
        node("eth_sendTransaction", {"from": account, "to": STRANGER, "value": "0x7"})
        node("hardhat_mine", hex(MANY))
        calls.append(node("eth_sendTransaction", call))
        number = int(node("eth_blockNumber"), 16)
        node("eth_sendTransaction", call)
        yield RemoteHardhat(node, account, counter, calls, number)


@pytest.fixture(scope="module")
def fork(remote: RemoteHardhat) -> Iterator[Anvil]:
    """Return a fork that has called the counter once."""
    url = f"{remote.node.url}@{remote.number}"
    with inprocess_anvil("anvil", "-f", url, "--no-storage-caching") as node:
        node("eth_sendTransaction", {"from": remote.account, "to": remote.counter})
        yield node


def same(remote: RemoteHardhat, fork: Anvil, method: str, *params: Any) -> None:
    """Check that both respond alike, and with something."""
    found = fork(method, *params)
    assert found is not None
    assert found == remote.node(method, *params), (method, params)


@pytest.mark.parametrize("number", [0, 1, 2, 4, 5, MANY, MANY + 4])
def test_the_past_is_that_of_the_remote(remote: RemoteHardhat, fork: Anvil, number: int) -> None:
    block = hex(number)
    for full in (False, True):
        same(remote, fork, "eth_getBlockByNumber", block, full)
    same(remote, fork, "eth_getBlockTransactionCountByNumber", block)
    for method in ("eth_getBalance", "eth_getTransactionCount", "eth_getCode"):
        for address in (remote.account, remote.counter, STRANGER):
            same(remote, fork, method, address, block)
    same(remote, fork, "eth_getStorageAt", remote.counter, "0x0", block)
    same(remote, fork, "eth_call", {"to": remote.counter}, block)


def test_transactions_logs_and_fees_are_those_of_the_remote(
    remote: RemoteHardhat, fork: Anvil
) -> None:
    for sent in remote.calls:
        same(remote, fork, "eth_getTransactionByHash", sent)
        same(remote, fork, "eth_getTransactionReceipt", sent)
    below = {"fromBlock": "0x0", "toBlock": hex(remote.number), "address": remote.counter}
    same(remote, fork, "eth_getLogs", below)
    joined = fork("eth_getLogs", below | {"toBlock": "latest"})
    assert [int(log["data"], 16) for log in joined] == [1, 2, 3, 4]
    same(remote, fork, "eth_feeHistory", "0x5", hex(remote.number - 1), [50])
    assert len(fork("eth_feeHistory", "0x5", "latest", [50])["gasUsedRatio"]) == 5


@pytest.mark.parametrize("distance", [1, 2, 3, 100, 250])
def test_a_block_that_it_mined_among_many_has_its_hash(
    remote: RemoteHardhat, fork: Anvil, distance: int
) -> None:
    """Hardhat says of such a block that its parent's hash is zero."""
    number = remote.number - distance
    expected = remote.node("eth_getBlockByNumber", hex(number), False)["hash"]
    call = {"to": STRANGER, "data": f"0x{number:064x}"}
    assert fork("eth_call", call, "latest", {STRANGER: {"code": BLOCK_HASH}}) == expected


def test_what_it_cannot_trace_is_traced_here(remote: RemoteHardhat, fork: Anvil) -> None:
    for count, sent in enumerate(remote.calls, 1):
        trace = fork("debug_traceTransaction", sent, {"tracer": "callTracer"})
        assert (trace["to"], trace["type"]) == (remote.counter, "CALL")
        assert int(trace["output"], 16) == count
    block = fork("eth_getTransactionByHash", remote.calls[0])["blockNumber"]
    assert len(fork("trace_block", block)) == 1
