"""Calls and traces of the past: executed here, with the results that the remote has itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.chain.api_client import INNER, OUTER, REVERTER
from tests.support.chain.dev_chain import BOB, LOGGER, transaction
from tests.support.fork.past import ANCHOR, ForkClient, PastBlocks, forked
from tests.support.hex_data import hexed
from tests.support.rpc_client import RpcError

COUNT = {"from": str(BOB), "to": str(INNER)}
NEST = {"from": str(BOB), "to": str(OUTER)}
CALLS = [
    {"tracer": "callTracer", "tracerConfig": {"withLog": True}},
    {},
    {"tracer": "prestateTracer"},
]


@pytest.fixture(scope="module")
def fork(past: PastBlocks) -> Iterator[ForkClient]:
    """Return a fork with a block of its own."""
    with forked(past.client, ANCHOR) as client:
        client("anvil_mine")
        yield client


def same(past: PastBlocks, fork: ForkClient, name: str, *params: Any) -> Any:
    """Return what both return."""
    fork.remote.asked.clear()
    found = fork(name, *params)
    assert found == past.client(name, *params)
    assert name not in fork.remote.asked
    return found


@pytest.mark.parametrize("block", ["0x2", hex(ANCHOR - 1)])
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("eth_call", []),
        ("eth_estimateGas", []),
        ("eth_createAccessList", []),
        ("debug_traceCall", [{"tracer": "callTracer"}]),
    ],
)
def test_a_call_on_a_past_state_has_the_remotes_result(
    past: PastBlocks, fork: ForkClient, name: str, more: list[Any], block: str
) -> None:
    same(past, fork, name, COUNT, block, *more)
    same(past, fork, name, NEST, block, *more)


def test_a_call_sees_the_state_and_the_header_of_its_block(
    past: PastBlocks, fork: ForkClient
) -> None:
    # NUMBER, TIMESTAMP and the counter's slot: the nested call is in block 8.
    code = "0x435f52426020526040 5ff3".replace(" ", "")
    overrides = {str(REVERTER): {"code": code}}
    found = same(past, fork, "eth_call", {"to": str(REVERTER)}, "0x5", overrides)
    assert int(found[2:66], 16) == 5
    assert same(past, fork, "eth_call", COUNT, "0x7") == f"0x{1:064x}"
    assert same(past, fork, "eth_call", COUNT, "0x8") == f"0x{2:064x}"


def test_a_past_block_may_be_named_by_its_hash(past: PastBlocks, fork: ForkClient) -> None:
    named = past.client("eth_getBlockByNumber", "0x5", False)["hash"]
    same(past, fork, "eth_call", COUNT, {"blockHash": named})
    hidden = past.client("eth_getBlockByNumber", hex(ANCHOR + 1), False)["hash"]
    with pytest.raises(RpcError, match="doesn't exist"):
        fork("eth_call", COUNT, {"blockHash": hidden})


def test_a_call_on_the_first_block(past: PastBlocks, fork: ForkClient) -> None:
    log = {"from": str(BOB), "to": str(LOGGER), "data": "0x01"}
    assert fork("eth_call", log, "earliest") == past.client("eth_call", log, "0x0")


def test_overrides_apply_to_past_states(past: PastBlocks, fork: ForkClient) -> None:
    slot = {str(INNER): {"stateDiff": {f"0x{0:064x}": f"0x{41:064x}"}}}
    assert same(past, fork, "eth_call", COUNT, "0x5", slot) == f"0x{42:064x}"
    same(past, fork, "debug_traceCall", COUNT, "0x5", {"stateOverrides": slot})


def test_a_call_on_the_anchor_runs_on_the_forks_state(fork: ForkClient) -> None:
    assert fork("eth_call", COUNT, hex(ANCHOR)) == "0x"


def test_a_past_call_leaves_nothing_behind(fork: ForkClient) -> None:
    fork("eth_call", COUNT, "0x5")
    with pytest.raises(RpcError):
        fork("trace_filter", {"fromBlock": "0x5", "toBlock": "0x5"})
    assert fork("eth_call", COUNT, "latest") == "0x"


def test_blocks_are_simulated_on_a_past_block(past: PastBlocks, fork: ForkClient) -> None:
    payload = {"blockStateCalls": [{"calls": [COUNT, COUNT]}]}
    found = fork("eth_simulateV1", payload, "0x5")
    expected = past.client("eth_simulateV1", payload, "0x5")
    assert found[0]["calls"] == [call | {"logs": call["logs"]} for call in expected[0]["calls"]]
    assert found[0]["number"] == expected[0]["number"] == "0x6"
    assert found[0]["parentHash"] == expected[0]["parentHash"]


@pytest.mark.parametrize("config", CALLS)
def test_a_past_transaction_is_traced_here(
    past: PastBlocks, fork: ForkClient, config: dict[str, Any]
) -> None:
    for sent in (past.logged[3], past.nested, past.failed):
        same(past, fork, "debug_traceTransaction", sent, config)


BUNDLES = [{"transactions": [COUNT, COUNT]}]
SIGNED = hexed(transaction(0, by=1, to=INNER, wei=0).raw)
EXECUTED: list[tuple[str, list[Any]]] = [
    ("eth_getAccountInfo", [str(INNER), "0x5"]),
    ("ots_hasCode", [str(INNER), "0x5"]),
    ("eth_getStorageValues", [{str(INNER): ["0x0", "0x1"]}, "0x8"]),
    ("eth_callMany", [BUNDLES, {"blockNumber": "0x5"}]),
    ("eth_callMany", [BUNDLES, {"blockNumber": "0x8", "transactionIndex": 0}]),
    ("eth_callMany", [BUNDLES, {"blockNumber": "0x8", "transactionIndex": 1}]),
    ("debug_traceCallMany", [BUNDLES, {"blockNumber": "0x5"}]),
    ("debug_traceCall", [COUNT, "0x8", {"txIndex": "0x0"}]),
    ("debug_traceCall", [COUNT, "0x8", {"txIndex": "0x1"}]),
    ("debug_traceCall", [COUNT, hex(ANCHOR), {"txIndex": "0x0"}]),
    ("trace_call", [COUNT, ["trace", "stateDiff"], "0x5"]),
    ("trace_callMany", [[[COUNT, ["trace"]]], "0x5"]),
    ("trace_rawTransaction", [SIGNED, ["trace"], "0x5"]),
    ("debug_traceBlockByNumber", ["0x8", {"tracer": "callTracer"}]),
    ("trace_block", [hex(ANCHOR)]),
    ("trace_replayBlockTransactions", ["0x8", ["trace"]]),
]


@pytest.mark.parametrize(("name", "params"), EXECUTED)
def test_what_runs_on_the_past_has_the_remotes_result(
    past: PastBlocks, fork: ForkClient, name: str, params: list[Any]
) -> None:
    same(past, fork, name, *params)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("trace_transaction", []),
        ("trace_get", [["0x0"]]),
        ("trace_replayTransaction", [["trace", "stateDiff"]]),
        ("ots_getInternalOperations", []),
        ("ots_traceTransaction", []),
        ("ots_getTransactionError", []),
    ],
)
def test_what_happened_in_a_past_transaction(
    past: PastBlocks, fork: ForkClient, name: str, more: list[Any]
) -> None:
    same(past, fork, name, past.nested, *more)


def test_a_transaction_above_the_anchor_cannot_be_traced(
    past: PastBlocks, fork: ForkClient
) -> None:
    for hidden in (past.creating, past.above):
        with pytest.raises(RpcError, match="transaction not found"):
            fork("debug_traceTransaction", hidden)
        assert fork("trace_transaction", hidden) == []


@pytest.mark.parametrize("kind", ["0x71", "0xff", "0x7e", "0x6a", "0x64"])
def test_a_block_with_transactions_of_other_chains_is_left_to_the_remote(
    past: PastBlocks, kind: str
) -> None:
    with forked(past.client, ANCHOR) as fork:
        fork.remote.results["eth_getBlockByHash"] = lambda _params, found: (
            found
            | {
                "transactions": [
                    transaction | {"type": kind} for transaction in found["transactions"]
                ]
            }
        )
        config = {"tracer": "callTracer"}
        found = fork("debug_traceTransaction", past.nested, config)
        assert found == past.client("debug_traceTransaction", past.nested, config)
        assert fork.remote.asked["debug_traceTransaction"] == 1
        fork.remote.errors["debug_traceTransaction"] = (-32601, "the method does not exist")
        fork.remote.kept.clear()
        with pytest.raises(RpcError, match="rejected debug_traceTransaction: the method does not"):
            fork("debug_traceTransaction", past.nested, config)


def test_the_first_block_of_the_remote_is_left_to_it(fork: ForkClient) -> None:
    with pytest.raises(RpcError, match="rejected debug_traceBlockByNumber"):
        fork("debug_traceBlockByNumber", "0x0")


PUSH0 = {str(REVERTER): {"code": "0x5f5f5260205ff3"}}
PUSHED = {"to": str(REVERTER), "gas": "0x10000"}


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("eth_call", [], [PUSH0]),
        ("eth_estimateGas", [], [PUSH0]),
        ("debug_traceCall", [], [{"stateOverrides": PUSH0, "tracer": "callTracer"}]),
    ],
)
def test_an_opcode_of_a_later_hardfork_is_none_in_a_past_block(
    past: PastBlocks, name: str, before: list[Any], after: list[Any]
) -> None:
    with forked(past.client, ANCHOR) as fork:
        fork.remote.hardforks[5] = "london"
        later = fork(name, PUSHED, *before, "0x6", *after)
        assert later == past.client(name, PUSHED, *before, "0x6", *after)
        if name == "debug_traceCall":
            found = fork(name, PUSHED, *before, "0x5", *after)
            assert found["error"] == "invalid opcode"
            return
        with pytest.raises(RpcError, match="opcode"):
            fork(name, PUSHED, *before, "0x5", *after)


def test_simulated_blocks_have_the_rules_and_the_fields_of_the_past_block_below_them(
    past: PastBlocks,
) -> None:
    with forked(past.client, ANCHOR) as fork:
        fork.remote.hardforks[5] = "london"
        payload = {"blockStateCalls": [{"calls": [PUSHED], "stateOverrides": PUSH0}]}
        (london,), (later,) = (fork("eth_simulateV1", payload, block) for block in ("0x5", "0x6"))
        assert [simulated["calls"][0]["status"] for simulated in (london, later)] == ["0x0", "0x1"]
        assert "withdrawalsRoot" not in london


def test_the_transactions_of_a_past_block_are_executed_by_its_own_rules(past: PastBlocks) -> None:
    with forked(past.client, ANCHOR) as fork:
        fork.remote.hardforks[8] = "istanbul"
        # The block has a transaction of a type that came with London.
        with pytest.raises(RpcError, match="transaction type not supported: 0x2"):
            fork("debug_traceTransaction", past.nested)
        same(past, fork, "debug_traceTransaction", past.logged[3])


def test_a_block_that_says_no_gas_limit_is_executed(past: PastBlocks) -> None:
    with forked(past.client, ANCHOR) as fork:
        fork.remote.headers[8] = {"gas_limit": 0}
        same(past, fork, "debug_traceTransaction", past.nested, {"tracer": "callTracer"})
        same(past, fork, "debug_traceBlockByNumber", "0x8", {"tracer": "callTracer"})
        same(past, fork, "eth_call", COUNT, "0x8")
        same(past, fork, "eth_estimateGas", COUNT, "0x8")
        assert fork("eth_simulateV1", {"blockStateCalls": [{"calls": [COUNT]}]}, "0x8")
