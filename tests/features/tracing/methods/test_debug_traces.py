"""Traces of sealed transactions and of calls, as geth writes them."""

from __future__ import annotations

from typing import Any

import pytest

from entresol.node.config.api import LimitsConfig
from tests.support.chain.api_client import TARGET, ApiClient, send, with_code
from tests.support.chain.dev_chain import ALICE, BOB, LOGGER, NOBODY, priority_transaction
from tests.support.chain.priced_chain import DEAREST, REQUEST_PRICES, PricedChain
from tests.support.evm.long_programs import BLAKE2F, PASSES_ON, blake2f, forwarded
from tests.support.rpc_client import RpcError

CALLS = {"tracer": "callTracer", "tracerConfig": {"withLog": True}}
TRACERS = [
    "4byteTracer",
    "callTracer",
    "erc7562Tracer",
    "flatCallTracer",
    "keccak256PreimageTracer",
    "noopTracer",
    "prestateTracer",
]


@pytest.mark.parametrize(
    "tracer", ["fooTracer", "{step: function(log) {}, fault: function() {}}", "muxtracer"]
)
def test_other_tracers_are_rejected_by_name(client: ApiClient, tracer: str) -> None:
    sent = send(client)
    with pytest.raises(RpcError, match="tracer not found: ") as rejection:
        client("debug_traceTransaction", sent, {"tracer": tracer})
    assert rejection.value.code == -32602
    assert tracer[:40] in str(rejection.value)
    assert all(name in str(rejection.value) for name in TRACERS)


def test_the_zero_hash_has_the_empty_trace_that_anvil_has_for_it(client: ApiClient) -> None:
    empty = {"failed": False, "gas": 0, "returnValue": "0x", "structLogs": []}
    assert client("debug_traceTransaction", "0x" + "00" * 32, {"tracer": "callTracer"}) == empty


def test_a_block_is_read_from_its_rlp(client: ApiClient) -> None:
    with pytest.raises(RpcError, match="in RLP") as rejection:
        client("debug_traceBlock", "0xc0")
    assert rejection.value.code == -32602


def test_a_trace_stops_at_the_limit_and_names_its_flag(client: ApiClient) -> None:
    sent = send(client, to=LOGGER, wei=0)
    small = ApiClient(client.chain, limits=LimitsConfig(trace_limit_bytes=300))
    with pytest.raises(RpcError, match="more than 300 bytes: --trace-limit-bytes") as rejection:
        small("debug_traceTransaction", sent)
    assert rejection.value.code == -32000


def test_a_trace_may_be_longer_than_other_responses(client: ApiClient) -> None:
    sent = send(client, to=LOGGER, wei=0, data=bytes(2_000))
    short = ApiClient(client.chain, limits=LimitsConfig(answer_limit_bytes=2_000))
    assert len(short("debug_traceTransaction", sent, CALLS)["input"]) > 4_000


def test_a_block_of_traces_counts_towards_one_limit(client: ApiClient) -> None:
    client.chain.schedule.seal_on_request()
    for nonce in range(20):
        send(client, nonce, to=LOGGER, wei=0)
    client.chain.builder.seal()
    (one, *_) = client("debug_traceBlockByNumber", "latest")
    size = len(str(one))
    small = ApiClient(client.chain, limits=LimitsConfig(trace_limit_bytes=5 * size))
    small("debug_traceTransaction", one["txHash"])
    with pytest.raises(RpcError, match="--trace-limit-bytes"):
        small("debug_traceBlockByNumber", "latest")


def test_empty_accounts_are_listed_on_request(client: ApiClient) -> None:
    sent = send(client)
    options = {"tracer": "prestateTracer", "tracerConfig": {"includeEmpty": True}}
    recipient = client("eth_getTransactionByHash", sent)["to"]
    assert client("debug_traceTransaction", sent, options)[recipient] == {"balance": "0x0"}
    assert recipient not in client("debug_traceTransaction", sent, {"tracer": "prestateTracer"})
    options["tracerConfig"] = {"includeEmpty": True, "diffMode": True}
    with pytest.raises(RpcError, match="cannot use diffMode with includeEmpty"):
        client("debug_traceTransaction", sent, options)


CALL_TREE = {"tracer": "callTracer"}
LOOP = "0x5b5f56"
# Returns the number of the block.
NUMBER = "0x435f5260205ff3"
# Counts its calls in slot 0, and returns the count.
COUNT = "0x5f546001015f555f545f5260205ff3"
# Returns the balance of the account in the call data.
BALANCE = "0x5f35315f5260205ff3"


def test_a_call_sees_overrides_of_state_and_block(client: ApiClient) -> None:
    config = {
        **CALL_TREE,
        "stateOverrides": with_code(NUMBER),
        "blockOverrides": {"number": "0x1234"},
    }
    frame = client("debug_traceCall", {"to": TARGET}, "latest", config)
    assert int(frame["output"], 16) == 0x1234


def test_a_call_runs_before_the_transaction_of_an_index(client: ApiClient) -> None:
    client.chain.schedule.seal_on_request()
    for nonce in range(3):
        send(client, nonce, wei=1)
    client.chain.builder.seal()
    call = {"to": TARGET, "data": "0x" + bytes(NOBODY).rjust(32, b"\0").hex()}
    config = {**CALL_TREE, "stateOverrides": with_code(BALANCE)}
    balances = [
        int(client("debug_traceCall", call, "latest", {**config, "txIndex": index})["output"], 16)
        for index in (0, 1, "0x2", 3)
    ]
    assert balances == [0, 1, 2, 3]
    assert int(client("debug_traceCall", call, "latest", config)["output"], 16) == 3
    with pytest.raises(RpcError, match="transaction index 4 out of range") as rejection:
        client("debug_traceCall", call, "latest", {"txIndex": 4})
    assert rejection.value.code == -32000


def test_a_call_stops_at_its_timeout(client: ApiClient) -> None:
    config: dict[str, Any] = {
        "tracer": "noopTracer", "timeout": "1ms", "stateOverrides": with_code(LOOP),
    }  # fmt: skip
    with pytest.raises(RpcError, match="execution timeout") as rejection:
        client("debug_traceCall", {"to": TARGET}, "latest", config)
    assert rejection.value.code == -32000


def test_a_timeout_is_a_duration_of_go(client: ApiClient) -> None:
    with pytest.raises(RpcError, match="invalid duration 'soon'") as rejection:
        client("debug_traceCall", {"to": TARGET}, "latest", {"timeout": "soon"})
    assert rejection.value.code == -32602


def test_each_of_many_calls_runs_on_the_state_of_the_one_before(client: ApiClient) -> None:
    call = {"to": TARGET}
    bundles = [
        {"transactions": [call, call], "blockOverride": {"number": "0x5"}},
        {"transactions": []},
        {"transactions": [call]},
    ]
    config = {**CALL_TREE, "stateOverrides": with_code(COUNT)}
    traces = client("debug_traceCallMany", bundles, {"blockNumber": "latest"}, config)
    outputs = [[int(frame["output"], 16) for frame in bundle] for bundle in traces]
    assert outputs == [[1, 2], [], [3]]


@pytest.mark.parametrize(
    "to", [BLAKE2F, TARGET, None], ids=["itself", "by a contract", "by init code"]
)
def test_a_precompile_that_takes_long_leaves_the_event_loop(
    client: ApiClient, to: str | None
) -> None:
    client("anvil_setCode", TARGET, PASSES_ON)
    data = forwarded if to is None else blake2f
    for rounds in (1_000, 200_000):
        call = {"from": str(ALICE), "data": data(rounds)} | ({} if to is None else {"to": to})
        before = client.api.services.threads.started
        assert client("debug_traceCall", call, "latest", {"tracer": "callTracer"})
        assert client.api.services.threads.started > before


def test_requests_at_any_price_that_l1_can_ask_are_traced() -> None:
    chain = PricedChain(DEAREST)
    for number, price in enumerate(REQUEST_PRICES):
        request = priority_transaction(number, sender=NOBODY, to=BOB, value=5, fee=price)
        sent = str(chain.chain.enqueue(request))
        chain.chain.builder.seal()
        assert chain("debug_traceTransaction", sent) is not None
        assert chain("ots_getBlockTransactions", number + 1, 0, 10) is not None
    chain.close()
