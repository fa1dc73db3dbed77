"""Traces of calls."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.chain.api_client import TARGET, ApiClient, send, with_code
from tests.support.chain.dev_chain import ALICE, NOBODY
from tests.support.rpc_client import RpcError

CALLS = {"tracer": "callTracer"}
LOOP = "0x5b5f56"
# Returns the number of the block.
NUMBER = "0x435f5260205ff3"
# Counts its calls in slot 0, and returns the count.
COUNT = "0x5f546001015f555f545f5260205ff3"
# Returns the balance of the account in the call data.
BALANCE = "0x5f35315f5260205ff3"


def test_a_call_is_traced_on_the_latest_block(client: ApiClient) -> None:
    frame = client("debug_traceCall", {"from": str(ALICE), "to": TARGET, "value": "0x5"})
    assert frame["structLogs"] == []
    frame = client("debug_traceCall", {"to": TARGET, "gas": "0x10000"}, "latest", CALLS)
    assert (frame["to"], frame["gas"], frame["gasUsed"]) == (TARGET, "0x10000", "0x5208")


def test_a_call_sees_overrides_of_state_and_block(client: ApiClient) -> None:
    config = {
        **CALLS,
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
    config = {**CALLS, "stateOverrides": with_code(BALANCE)}
    balances = [
        int(client("debug_traceCall", call, "latest", {**config, "txIndex": index})["output"], 16)
        for index in (0, 1, "0x2", 3)
    ]
    assert balances == [0, 1, 2, 3]
    assert int(client("debug_traceCall", call, "latest", config)["output"], 16) == 3
    with pytest.raises(RpcError, match="transaction index 4 out of range") as rejection:
        client("debug_traceCall", call, "latest", {"txIndex": 4})
    assert rejection.value.code == -32000


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ("pending", "tracing on top of pending is not supported"),
        ("0x63", "block #99 not found"),
        ("0x" + "ab" * 32, "block 0xabab"),
    ],
)
def test_a_block_that_cannot_be_traced_is_rejected(
    client: ApiClient, block: str, text: str
) -> None:
    with pytest.raises(RpcError, match=text) as rejection:
        client("debug_traceCall", {"to": TARGET}, block)
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
    config = {**CALLS, "stateOverrides": with_code(COUNT)}
    traces = client("debug_traceCallMany", bundles, {"blockNumber": "latest"}, config)
    outputs = [[int(frame["output"], 16) for frame in bundle] for bundle in traces]
    assert outputs == [[1, 2], [], [3]]
