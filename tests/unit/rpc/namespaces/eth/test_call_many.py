"""`eth_callMany` as clients see it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ALICE, NOBODY, transaction
from tests.support.hex_data import hexed, word
from tests.support.rpc_client import RpcError

COUNTER = "0xc100000000000000000000000000000000000000"
COUNTING = {COUNTER: {"code": "0x5f54600101805f555f5260205ff3"}}
COUNT = {"to": COUNTER}
# Returns the balance of the account that the call data names.
BALANCES = {COUNTER: {"code": "0x5f35315f5260205ff3"}}
BALANCE = {"to": COUNTER, "data": "0x" + bytes(NOBODY).rjust(32, b"\0").hex()}


def values(answer: Any) -> list[list[int]]:
    return [[int(call["value"], 16) for call in bundle] for bundle in answer]


def test_calls_build_on_each_other_across_bundles(client: ApiClient) -> None:
    bundles = [{"transactions": [COUNT, COUNT]}, {"transactions": [COUNT]}]
    answer = client("eth_callMany", bundles, {"blockNumber": "latest"}, COUNTING)
    assert answer == [
        [{"value": hexed(word(1))}, {"value": hexed(word(2))}],
        [{"value": hexed(word(3))}],
    ]


def test_a_failure_is_reported_at_its_position(client: ApiClient) -> None:
    rejecting = {"to": COUNTER, "data": "0x01"}
    codes = {COUNTER: {"code": "0x5f5ffd"}}
    poor = {"from": "0x" + "11" * 20, "to": str(ALICE), "value": "0x1"}
    bundles = [{"transactions": [rejecting, poor, {"to": str(NOBODY)}]}]
    ((reverted, rejected, done),) = client("eth_callMany", bundles, {}, codes)
    assert reverted == {"error": "execution reverted"}
    assert "insufficient funds" in rejected["error"]
    assert done == {"value": "0x"}


@pytest.mark.parametrize(
    ("index", "balance"), [(0, 0), (1, 1), ("0x2", 2), (3, 3), (9, 3), (-1, 3), ("all", 3), (None, 3)]
)  # fmt: skip
def test_calls_run_behind_so_many_transactions_of_the_block(
    client: ApiClient, index: object, balance: int
) -> None:
    for nonce in range(3):
        client.chain.add(transaction(nonce))
    client.chain.builder.seal()
    client.chain.add(transaction(3))
    client.chain.builder.seal()
    context = {"blockNumber": "0x1", "transactionIndex": index}
    answer = client("eth_callMany", [{"transactions": [BALANCE]}], context, BALANCES)
    assert values(answer) == [[balance]]


def test_what_was_edited_before_the_block_is_there_within_it(client: ApiClient) -> None:
    client("anvil_setBalance", str(NOBODY), "0x64")
    client.chain.add(transaction(0))
    client.chain.builder.seal()
    context = {"blockNumber": "0x1", "transactionIndex": 0}
    answer = client("eth_callMany", [{"transactions": [BALANCE]}], context, BALANCES)
    assert values(answer) == [[0x64]]


@pytest.mark.parametrize(
    "names",
    [
        {"number": "0x63", "time": "0x7", "feeRecipient": str(ALICE), "baseFeePerGas": "0x5"},
        {"blockNumber": "0x63", "timestamp": "0x7", "coinbase": str(ALICE), "baseFee": "0x5"},
    ],
)
def test_a_block_is_overridden_under_the_names_of_either_dialect(
    client: ApiClient, names: dict[str, str]
) -> None:
    code = {COUNTER: {"code": "0x435f52426020524160405248606052605e4060805260a05ff3"}}
    override = {**names, "blockHash": {"94": hexed(word(9))}}
    bundles = [{"transactions": [COUNT], "blockOverride": override}]
    ((seen,),) = client("eth_callMany", bundles, None, code)
    found = [seen["value"][2:][at : at + 64] for at in range(0, 320, 64)]
    assert [int(output, 16) for output in found] == [0x63, 7, int(str(ALICE), 16), 5, 9]


def test_a_client_may_set_a_shorter_timeout(client: ApiClient) -> None:
    loop = {COUNTER: {"code": "0x5b5f56"}}
    with pytest.raises(RpcError, match=r"execution aborted \(timeout = 0.001s\)"):
        client("eth_callMany", [{"transactions": [COUNT] * 50}], {}, loop, 1)


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ([[{}]], r"params\[0\]\[0\]\.transactions"),
        ([[{"transactions": [{"to": 5}]}]], r"params\[0\]\[0\]\.transactions\[0\]\.to"),
        ([[], {"transactionIndex": "some"}], r"params\[1\]\.transactionIndex"),
        ([[{"transactions": [], "blockOverride": {"blockHash": {"x": hexed(word(1))}}}]], "x: "),
    ],
)
def test_a_wrong_field_is_named(client: ApiClient, params: list[Any], place: str) -> None:
    with pytest.raises(RpcError, match=place) as error:
        client("eth_callMany", *params)
    assert error.value.code == -32602


def test_no_bundles_have_no_results(client: ApiClient) -> None:
    assert client("eth_callMany", []) == []
    assert client("eth_callMany", [{"transactions": []}]) == [[]]
