"""Calls and replayed transactions with frames, state differences and programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.chain.dev_chain import ALICE, BOB, transaction
from tests.support.chain.traced_chain import INNER, OUTER, TracedChain, traced_chain
from tests.support.hex_data import hexed, word
from tests.support.rpc_client import RpcError

SLOT = hexed(word(0))


@pytest.fixture(scope="module")
def chain() -> Iterator[TracedChain]:
    with traced_chain() as chain:
        yield chain


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


def test_a_created_account_is_added(chain: TracedChain) -> None:
    difference = chain.client("trace_replayTransaction", chain.creating, ["stateDiff"])["stateDiff"]
    (created,) = [it for it in difference.values() if "+" in it["code"]]
    assert created["code"] == {"+": "0x00"}
    assert created["nonce"] == {"+": "0x1"}


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
