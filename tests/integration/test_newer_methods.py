"""Methods that newer peers serve: on both layers through a worker, and on a fork of a real anvil."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pytest

from tests.support.anvil import Anvil, running_anvil
from tests.support.clients.layers import running_layers
from tests.support.fork.remote_anvil import STRANGER, RemoteAnvil, remote_anvil
from tests.support.inprocess_node import inprocess_anvil
from tests.support.rpc_client import CheckedRpcClient, HttpRpcClient, RpcError

ALICE: Final = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
BOB: Final = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
RANDAO: Final = "0x" + "07" * 32


class Layer(NamedTuple):
    """A layer, and a transaction of block 1 or later that stores and calls."""

    client: HttpRpcClient
    number: str
    sent: str


@pytest.fixture(scope="module")
def layers() -> Iterator[dict[str, Layer]]:
    with running_layers("embedded", "--l1-delay", "0", "--workers", "1") as running:
        clients = {"L1": CheckedRpcClient(running.l1_url), "L2": CheckedRpcClient(running.url)}
        try:
            yield {name: used(client) for name, client in clients.items()}
        finally:
            for client in clients.values():
                client.close()


def used(client: HttpRpcClient) -> Layer:
    client("anvil_setCode", STRANGER, "0x5f54600101805f555f5260205ff3")
    sent = client("eth_sendTransaction", {"from": ALICE, "to": STRANGER})
    number = client("eth_getTransactionReceipt", sent)["blockNumber"]
    return Layer(client, number, sent)


@pytest.fixture(params=["L1", "L2"])
def layer(request: pytest.FixtureRequest, layers: dict[str, Layer]) -> Layer:
    return layers[request.param]


def signed(client: HttpRpcClient, **more: str) -> str:
    wanted = {"from": ALICE, "to": BOB, "value": "0x1", "gas": "0x7530", **more}
    raw: str = client("eth_signTransaction", wanted)["raw"]
    return raw


def test_a_worker_reads_within_blocks(layer: Layer) -> None:
    client, number, sent = layer
    index = int(client("eth_getTransactionReceipt", sent)["transactionIndex"], 16)
    raws = client("debug_getRawTransactions", number)
    assert raws[index] == client("debug_getRawTransaction", sent)
    traced = client("trace_blockOpcodeGas", number)["transactions"][index]
    assert traced == client("trace_transactionOpcodeGas", sent)
    assert {"SLOAD", "SSTORE"} <= {entry["opcode"] for entry in traced["opcodeGas"]}


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
