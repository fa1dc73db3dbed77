"""Methods that newer peers serve, on a fork of a real anvil and beside one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.anvil import Anvil, running_anvil
from tests.support.fork.remote_anvil import STRANGER, RemoteAnvil, remote_anvil
from tests.support.inprocess_node import inprocess_anvil
from tests.support.rpc_client import RpcError


@pytest.fixture(scope="module")
def remote() -> Iterator[RemoteAnvil]:
    with remote_anvil() as found:
        yield found


@pytest.fixture(scope="module")
def fork(remote: RemoteAnvil) -> Iterator[Anvil]:
    """Return a fork of a real anvil, with a call above its anchor."""
    flags = ("-f", f"{remote.url}@{remote.number}", "--no-storage-caching")
    with inprocess_anvil("anvil", *flags) as node:
        node("eth_sendTransaction", {"from": remote.accounts[0], "to": remote.counter})
        yield node


@pytest.mark.peer
def test_a_fork_reads_within_the_blocks_of_its_remote(remote: RemoteAnvil, fork: Anvil) -> None:
    for sent in remote.calls[:-1]:
        receipt = remote.node("eth_getTransactionReceipt", sent)
        assert fork("debug_getRawTransactions", receipt["blockNumber"]) == [
            remote.node("eth_getRawTransactionByHash", sent)
        ]
        traced = fork("trace_transactionOpcodeGas", sent)
        assert fork("trace_blockOpcodeGas", receipt["blockHash"])["transactions"] == [traced]


@pytest.mark.peer
def test_opcodes_of_the_past_are_those_of_the_remote(remote: RemoteAnvil, fork: Anvil) -> None:
    for sent in remote.calls[:-1]:
        used_gas = sum(
            entry["gasUsed"] for entry in fork("trace_transactionOpcodeGas", sent)["opcodeGas"]
        )
        gas = int(remote.node("eth_getTransactionReceipt", sent)["gasUsed"], 16)
        assert used_gas + 21_000 == gas


@pytest.mark.peer
def test_opcode_gas_is_what_steps_of_a_real_anvil_cost() -> None:
    with running_anvil("--steps-tracing") as node, inprocess_anvil("anvil") as ours:
        counted = [opcode_gas(peer) for peer in (node, ours)]
    assert counted[0] == counted[1]


def opcode_gas(node: Anvil) -> dict[str, tuple[int, int]]:
    """Return how often each opcode ran and its gas, by the method if the node has it, else by its steps."""
    sender = node("eth_accounts")[0]
    node("anvil_setCode", STRANGER, "0x5f54600101805f555f5260205ff3")
    sent = node("eth_sendTransaction", {"from": sender, "to": STRANGER, "gas": "0x186a0"})
    try:
        traced = node("trace_transactionOpcodeGas", sent)["opcodeGas"]
    except RpcError:
        steps: list[dict[str, Any]] = node("debug_traceTransaction", sent)["structLogs"]
        gas: Counter[str] = Counter()
        for step in steps:
            gas[step["op"]] += step["gasCost"]
        counts = Counter(step["op"] for step in steps)
        return {opcode: (count, gas[opcode]) for opcode, count in counts.items()}
    return {entry["opcode"]: (entry["count"], entry["gasUsed"]) for entry in traced}
