"""How often each opcode ran, and its gas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.chain.traced_chain import TracedChain, traced_chain
from tests.support.rpc_client import RpcError

_CALLS = {"CALL", "CREATE"}


@pytest.fixture(scope="module")
def chain() -> Iterator[TracedChain]:
    with traced_chain() as chain:
        yield chain


def used(traced: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {it["opcode"]: (it["count"], it["gasUsed"]) for it in traced["opcodeGas"]}


@pytest.mark.parametrize("name", ["nested", "failed", "creating", "transfer"])
def test_counts_and_gas_are_those_of_the_struct_logs(chain: TracedChain, name: str) -> None:
    sent = getattr(chain, name)
    traced = chain.client("trace_transactionOpcodeGas", sent)
    assert traced["transactionHash"] == sent
    logs = chain.client("debug_traceTransaction", sent)["structLogs"]
    assert {opcode: count for opcode, (count, _) in used(traced).items()} == Counter(
        log["op"] for log in logs
    )
    gas: Counter[str] = Counter()
    for log in logs:
        gas[log["op"]] += log["gasCost"]
    for opcode, (_, gas_used) in used(traced).items():
        assert gas_used == gas[opcode] or opcode in _CALLS


def test_a_call_is_without_the_gas_of_what_it_calls(chain: TracedChain) -> None:
    gas = sum(
        it for _, it in used(chain.client("trace_transactionOpcodeGas", chain.nested)).values()
    )
    receipt = chain.client("eth_getTransactionReceipt", chain.nested)
    assert gas + 21_000 == int(receipt["gasUsed"], 16)


def test_opcodes_come_in_their_order(chain: TracedChain) -> None:
    opcodes = list(used(chain.client("trace_transactionOpcodeGas", chain.nested)))
    assert opcodes[:4] == ["STOP", "ADD", "POP", "MSTORE"]
    assert opcodes[-2:] == ["CALL", "RETURN"]


def test_a_transfer_runs_no_opcode(chain: TracedChain) -> None:
    assert chain.client("trace_transactionOpcodeGas", chain.transfer)["opcodeGas"] == []


def test_a_block_has_each_of_its_transactions(chain: TracedChain) -> None:
    receipt = chain.client("eth_getTransactionReceipt", chain.nested)
    number = int(receipt["blockNumber"], 16)
    for block in (number, hex(number), receipt["blockHash"]):
        assert chain.client("trace_blockOpcodeGas", block) == {
            "blockHash": receipt["blockHash"],
            "blockNumber": number,
            "transactions": [chain.client("trace_transactionOpcodeGas", chain.nested)],
        }


def test_the_genesis_has_no_transactions(chain: TracedChain) -> None:
    genesis = chain.client("eth_getBlockByNumber", "0x0", False)["hash"]
    assert chain.client("trace_blockOpcodeGas", "earliest") == {
        "blockHash": genesis,
        "blockNumber": 0,
        "transactions": [],
    }


@pytest.mark.parametrize(
    ("method", "named"),
    [
        ("trace_transactionOpcodeGas", "0x" + "ab" * 32),
        ("trace_blockOpcodeGas", "0x" + "ab" * 32),
        ("trace_blockOpcodeGas", "0x999"),
        ("trace_blockOpcodeGas", "pending"),
    ],
)
def test_what_is_not_there_is_an_error(chain: TracedChain, method: str, named: str) -> None:
    with pytest.raises(RpcError) as rejection:
        chain.client(method, named)
    assert rejection.value.code == -32000
