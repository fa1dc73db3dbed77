"""The past of a fork beside a real anvil: what is passed through, what is executed here, and what is hidden."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from tests.support.anvil import Anvil
from tests.support.fork.proxy import FaultyProxy, faulty_proxy
from tests.support.fork.remote_anvil import RemoteAnvil, remote_anvil
from tests.support.inprocess_node import inprocess_anvil
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rpc_client import HttpRpcClient


@pytest.fixture(scope="module")
def remote() -> Iterator[RemoteAnvil]:
    with remote_anvil() as found:
        yield found


@pytest.fixture(scope="module")
def proxy(remote: RemoteAnvil) -> Iterator[FaultyProxy]:
    with faulty_proxy(remote.url) as found:
        yield found


@pytest.fixture(scope="module")
def fork(remote: RemoteAnvil, proxy: FaultyProxy) -> Iterator[Anvil]:
    """Return a fork that has called the counter once and mined a block."""
    flags = ("-f", f"{proxy.url}@{remote.number}", "--no-storage-caching")
    with inprocess_anvil("anvil", *flags) as node:
        node("eth_sendTransaction", {"from": remote.accounts[0], "to": remote.counter})
        node("anvil_mine", "0x1")
        yield node


def block_hash(remote: RemoteAnvil, number: int) -> str:
    found: str = remote.block(number)["hash"]
    return found


def same(remote: RemoteAnvil, fork: Anvil, method: str, *params: Any) -> Any:
    """Return what the fork and the remote both respond."""
    found = fork(method, *params)
    assert found == remote.node(method, *params), (method, params)
    return found


def test_every_block_and_what_is_in_it_is_the_remotes(remote: RemoteAnvil, fork: Anvil) -> None:
    for number in range(remote.number + 1):
        for full in (False, True):
            same(remote, fork, "eth_getBlockByNumber", hex(number), full)
            same(remote, fork, "eth_getBlockByHash", block_hash(remote, number), full)
        for method in ("eth_getBlockReceipts", "eth_getBlockTransactionCountByNumber"):
            same(remote, fork, method, hex(number))
        same(remote, fork, "eth_getTransactionByBlockNumberAndIndex", hex(number), "0x0")
        named = block_hash(remote, number)
        same(remote, fork, "eth_getBlockTransactionCountByHash", named)
        same(remote, fork, "eth_getTransactionByBlockHashAndIndex", named, "0x0")
        same(remote, fork, "eth_getUncleCountByBlockHash", named)
        page = same(remote, fork, "ots_getBlockTransactions", number, 0, 10)
        assert fork("ots_getBlockTransactions", hex(number), 0, 10) == page


def test_states_of_the_past_are_the_remotes(remote: RemoteAnvil, fork: Anvil) -> None:
    for number in range(remote.number):
        for account in (remote.accounts[0], remote.counter):
            for method in ("eth_getBalance", "eth_getTransactionCount", "eth_getCode"):
                same(remote, fork, method, account, hex(number))
        same(remote, fork, "eth_getStorageAt", remote.counter, "0x0", hex(number))
    same(remote, fork, "eth_getProof", remote.counter, [f"0x{0:064x}"], "0x3")


@pytest.mark.parametrize("number", ["0x1", "0x2", "0x3", "0x5"])
def test_calls_on_the_past_are_executed_here(
    remote: RemoteAnvil, fork: Anvil, proxy: FaultyProxy, number: str
) -> None:
    call = {"from": remote.accounts[1], "to": remote.counter, "gas": "0x30000"}
    asked = proxy.methods.copy()
    same(remote, fork, "eth_call", call, number)
    traces = [
        node("debug_traceCall", call, number, {"tracer": "callTracer"})
        for node in (fork, remote.node)
    ]
    # anvil says how much gas is left after the transaction has been paid for.
    assert [trace | {"gas": ""} for trace in traces[:1]] == [
        trace | {"gas": ""} for trace in traces[1:]
    ]
    for method in ("eth_estimateGas", "eth_createAccessList"):
        assert fork(method, call, number)
    for method in ("eth_call", "eth_estimateGas", "eth_createAccessList", "debug_traceCall"):
        assert proxy.methods[method] == asked[method], method


def test_transactions_of_the_past_are_traced_here(
    remote: RemoteAnvil, fork: Anvil, proxy: FaultyProxy
) -> None:
    config = {"tracer": "callTracer"}
    for sent in remote.calls[:-1]:
        found = fork("debug_traceTransaction", sent, config)
        expected = remote.node("debug_traceTransaction", sent, config)
        for member in ("from", "to", "gasUsed", "output", "type", "input", "value"):
            assert found[member] == expected[member], member
        steps = fork("debug_traceTransaction", sent)
        assert steps["gas"] == remote.node("debug_traceTransaction", sent)["gas"]
        assert "SSTORE" in {step["op"] for step in steps["structLogs"]}
        frames, theirs = fork("trace_transaction", sent), remote.node("trace_transaction", sent)
        for ours, other in zip(frames, theirs, strict=True):
            assert ours["action"]["to"] == other["action"]["to"]
            assert ours["blockHash"] == other["blockHash"]
            assert ours["result"]["gasUsed"] == other["result"]["gasUsed"]
    blocks = fork("debug_traceBlockByNumber", "0x2", config)
    assert [block["txHash"] for block in blocks] == [remote.calls[0]]
    assert proxy.methods["debug_traceTransaction"] == proxy.methods["trace_transaction"] == 0


def test_waiting_for_the_past_does_not_hold_up_others(
    remote: RemoteAnvil, fork: Anvil, proxy: FaultyProxy
) -> None:
    """Two hundred calls of the past wait for a slow remote, while local ones are served."""
    proxy.latency = 0.2
    try:
        with ThreadPoolExecutor(1) as pool, closing(HttpRpcClient(fork.url)) as slow:
            calls = [("eth_getBalance", [f"0x{number:040x}", "0x3"]) for number in range(1, 200)]
            waiting = pool.submit(slow.batch, calls)
            served = 0
            while not waiting.done():
                fork("eth_getBalance", remote.accounts[0], "latest")
                fork("eth_call", {"to": remote.counter}, "latest")
                served += not waiting.done()
            assert waiting.result(PATIENCE_SECONDS) == ["0x0"] * 199
        assert served > 1
    finally:
        proxy.latency = 0.0
