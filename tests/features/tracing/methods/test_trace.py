"""Frames, replays and opcodes of sealed transactions and of calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from entresol.primitives.transactions import SystemTransaction
from tests.support.chain.api_client import INNER, OUTER, TracedChain, traced_chain
from tests.support.chain.dev_chain import ALICE, BOB, GENESIS_NONCE, roots, transaction
from tests.support.hex_data import hexed, word
from tests.support.rpc_client import RpcError


@pytest.fixture(scope="module")
def chain() -> Iterator[TracedChain]:
    with traced_chain() as chain:
        yield chain


def addresses(frames: list[dict[str, Any]]) -> list[list[int]]:
    return [frame["traceAddress"] for frame in frames]


def test_a_transaction_has_a_frame_for_each_call(chain: TracedChain) -> None:
    frames = chain.client("trace_transaction", chain.nested)
    assert addresses(frames) == [[], [0], [1]]
    top, counted, paid = frames
    assert (top["action"]["to"], top["subtraces"]) == (str(OUTER), 2)
    assert int(counted["result"]["output"], 16) == 1
    assert paid["action"]["value"] == "0x1"
    receipt = chain.client("eth_getTransactionReceipt", chain.nested)
    for frame in frames:
        assert frame["transactionHash"] == chain.nested
        assert frame["blockHash"] == receipt["blockHash"]
        assert frame["blockNumber"] == int(receipt["blockNumber"], 16)
        assert frame["transactionPosition"] == 0


def test_an_unknown_transaction_has_no_frames(chain: TracedChain) -> None:
    assert chain.client("trace_transaction", "0x" + "ab" * 32) == []


def test_a_block_has_the_frames_of_its_transactions(chain: TracedChain) -> None:
    receipt = chain.client("eth_getTransactionReceipt", chain.nested)
    number = int(receipt["blockNumber"], 16)
    for block in (number, hex(number), receipt["blockHash"]):
        frames = chain.client("trace_block", block)
        assert frames == chain.client("trace_transaction", chain.nested)
    assert chain.client("trace_block", "0x0") == []
    with pytest.raises(RpcError, match="block #99 not found"):
        chain.client("trace_block", 99)


def test_one_frame_is_found_by_its_address(chain: TracedChain) -> None:
    frames = chain.client("trace_transaction", chain.nested)
    assert chain.client("trace_get", chain.nested, ["0x1"]) == frames[2]
    assert chain.client("trace_get", chain.nested, []) == frames[0]
    assert chain.client("trace_get", chain.nested, ["0x7"]) is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, [[], [0], [1], [], [], [0], []]),
        ({"fromAddress": [str(OUTER)]}, [[0], [1]]),
        ({"toAddress": [str(INNER)]}, [[0]]),
        ({"fromAddress": [str(ALICE)], "toAddress": [str(BOB)]}, [[], [1], [], [], []]),
        ({"fromAddress": [str(OUTER)], "toAddress": [str(BOB)], "mode": "intersection"}, [[1]]),
        ({"after": 2, "count": 2}, [[1], []]),
        ({"count": 0}, []),
        ({"after": 100}, []),
        ({"fromBlock": "0x2", "toBlock": 3}, [[], [], [0]]),
    ],
)
def test_frames_are_filtered(
    chain: TracedChain, wanted: dict[str, Any], found: list[list[int]]
) -> None:
    assert addresses(chain.client("trace_filter", wanted)) == found


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        ("0x3", "0x2", "invalid block range, ensure that to block is greater than from block"),
        ("0x0", "latest", "block range too large, currently limited to 300"),
    ],
)
def test_a_range_is_bounded(first: str, last: str, text: str) -> None:
    with traced_chain() as own:
        own.client("anvil_mine", 300)
        with pytest.raises(RpcError, match=text) as rejection:
            own.client("trace_filter", {"fromBlock": first, "toBlock": last})
        assert rejection.value.code == -32602
        assert own.client("trace_filter", {"fromBlock": hex(10), "toBlock": "latest"}) == []


SLOT = hexed(word(0))


def test_a_replay_has_the_types_that_are_asked_for(chain: TracedChain) -> None:
    every = chain.client("trace_replayTransaction", chain.nested, ["trace", "stateDiff", "vmTrace"])
    assert [frame["traceAddress"] for frame in every["trace"]] == [[], [0], [1]]
    assert every["stateDiff"][str(INNER)]["storage"][SLOT]["*"] == {
        "from": hexed(word(0)), "to": hexed(word(1)),
    }  # fmt: skip
    assert "op" in every["vmTrace"]["ops"][0]
    only = chain.client("trace_replayTransaction", chain.nested, ["stateDiff"])
    assert (only["trace"], only["vmTrace"]) == ([], None)
    assert only["stateDiff"] == every["stateDiff"]


def test_a_block_is_replayed_with_hashes(chain: TracedChain) -> None:
    number = chain.client("eth_getTransactionReceipt", chain.nested)["blockNumber"]
    (entry,) = chain.client("trace_replayBlockTransactions", number, ["trace"])
    assert entry.pop("transactionHash") == chain.nested
    assert entry == chain.client("trace_replayTransaction", chain.nested, ["trace"])


def test_a_call_is_traced_without_being_sent(chain: TracedChain) -> None:
    call = {"from": str(ALICE), "to": str(OUTER)}
    traced = chain.client("trace_call", call, ["trace", "stateDiff"])
    assert [frame["traceAddress"] for frame in traced["trace"]] == [[], [0], [1]]
    assert traced["stateDiff"][str(INNER)]["storage"][SLOT]["*"]["to"] == hexed(word(2))
    early = chain.client("trace_call", {"to": str(INNER)}, ["trace"], "0x0")
    assert early["trace"][0]["result"]["output"] == "0x"


def test_each_call_runs_on_the_state_of_the_one_before(chain: TracedChain) -> None:
    call = {"to": str(INNER)}
    results = chain.client("trace_callMany", [[call, ["trace"]], [call, []], [call, ["trace"]]])
    assert [int(result["output"], 16) for result in results] == [2, 3, 4]
    assert results[1]["trace"] == []


def test_a_raw_transaction_is_traced_without_being_sent(chain: TracedChain) -> None:
    nonce = int(chain.client("eth_getTransactionCount", str(ALICE), "latest"), 16)
    raw = hexed(transaction(nonce, to=BOB, wei=3).raw)
    traced = chain.client("trace_rawTransaction", raw, ["trace"])
    assert traced["trace"][0]["action"]["value"] == "0x3"
    assert int(chain.client("eth_getTransactionCount", str(ALICE), "latest"), 16) == nonce
    with pytest.raises(RpcError, match="nonce too low"):
        chain.client("trace_rawTransaction", hexed(transaction(0).raw), ["trace"])


@pytest.mark.parametrize(
    ("types", "text"), [(["memTrace"], "memTrace"), ("trace", "expected `array`")]
)
def test_other_types_are_rejected(chain: TracedChain, types: object, text: str) -> None:
    with pytest.raises(RpcError, match=text) as rejection:
        chain.client("trace_replayTransaction", chain.nested, types)
    assert rejection.value.code == -32602


_CALLS = {"CALL", "CREATE"}


def used(traced: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {
        opcode["opcode"]: (opcode["count"], opcode["gasUsed"]) for opcode in traced["opcodeGas"]
    }


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
        gas_used
        for _, gas_used in used(chain.client("trace_transactionOpcodeGas", chain.nested)).values()
    )
    receipt = chain.client("eth_getTransactionReceipt", chain.nested)
    assert gas + 21_000 == int(receipt["gasUsed"], 16)


def test_a_block_has_each_of_its_transactions(chain: TracedChain) -> None:
    receipt = chain.client("eth_getTransactionReceipt", chain.nested)
    number = int(receipt["blockNumber"], 16)
    for block in (number, hex(number), receipt["blockHash"]):
        assert chain.client("trace_blockOpcodeGas", block) == {
            "blockHash": receipt["blockHash"],
            "blockNumber": number,
            "transactions": [chain.client("trace_transactionOpcodeGas", chain.nested)],
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
    assert chain.client.error(method, named).code == -32000


def test_its_bytes_are_rejected(chain: TracedChain) -> None:
    """A transaction of the node itself."""
    raw = hexed(SystemTransaction.root_import(roots(1, first=9), GENESIS_NONCE + 1).encode())
    with pytest.raises(RpcError, match="transaction type not supported: 0x7d"):
        chain.client("trace_rawTransaction", raw, ["trace"])
