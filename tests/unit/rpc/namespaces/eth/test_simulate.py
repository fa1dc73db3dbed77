"""`eth_simulateV1` as clients see it: block objects with calls, and the codes of its errors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ALICE, BOB, LOGGER, NOBODY
from tests.support.rpc_client import RpcError

POOR = "0xc000000000000000000000000000000000000000"
CONTRACT = "0xc100000000000000000000000000000000000000"
# Reverts with the reason `no`.
NO = (
    "0x7f08c379a0" + "00" * 28 + "5f52 6020600452 6002602452".replace(" ", "")
    + "7f6e6f" + "00" * 30 + "604452 60645ffd".replace(" ", "")
)  # fmt: skip
TRANSFER = {"from": str(ALICE), "to": str(BOB), "value": "0x5"}


def simulate(client: ApiClient, *blocks: Any, at: str = "latest", **options: Any) -> Any:
    return client("eth_simulateV1", {"blockStateCalls": list(blocks), **options}, at)


def calls(*wanted: Any, **fields: Any) -> dict[str, Any]:
    return {"calls": list(wanted), **fields}


def test_a_block_has_the_fields_of_a_block_and_its_calls(client: ApiClient) -> None:
    (block,) = simulate(client, calls(TRANSFER))
    sealed = client("eth_getBlockByNumber", "latest", False)
    assert set(block) == {*sealed, "calls"}
    assert (block["number"], block["parentHash"]) == ("0x1", sealed["hash"])
    assert (block["gasUsed"], len(block["transactions"])) == ("0x5208", 1)
    expected = {"status": "0x1", "returnData": "0x", "gasUsed": "0x5208", "maxUsedGas": "0x5208"}
    assert block["calls"] == [{**expected, "logs": []}]
    assert client("eth_blockNumber") == "0x0"


def test_the_flag_selects_full_transactions(client: ApiClient) -> None:
    (block,) = simulate(client, calls(TRANSFER), returnFullTransactions=True)
    (whole,) = block["transactions"]
    assert (whole["from"], whole["to"], whole["value"]) == (str(ALICE), str(BOB), "0x5")
    assert (whole["blockHash"], whole["type"], whole["r"]) == (block["hash"], "0x2", "0x0")
    assert [whole["hash"]] == simulate(client, calls(TRANSFER))[0]["transactions"]


def test_logs_are_numbered_through_the_block(client: ApiClient) -> None:
    emit = {"from": str(ALICE), "to": str(LOGGER), "data": "0x12"}
    (block,) = simulate(client, calls(emit, TRANSFER, emit), traceTransfers=True)
    logs = [log for call in block["calls"] for log in call["logs"]]
    assert [log["logIndex"] for log in logs] == ["0x0", "0x1", "0x2"]
    assert [log["transactionHash"] for log in logs] == block["transactions"]
    assert {log["blockHash"] for log in logs} == {block["hash"]}
    assert [log["address"] for log in logs] == [str(LOGGER), "0x" + "ee" * 20, str(LOGGER)]


def test_a_revert_is_reported_with_code_3_and_its_data(client: ApiClient) -> None:
    overridden = {"stateOverrides": {CONTRACT: {"code": NO}}}
    (block,) = simulate(client, calls({"to": CONTRACT}, TRANSFER, **overridden))
    reverted, done = block["calls"]
    assert (reverted["status"], reverted["returnData"]) == ("0x0", "0x")
    error = reverted["error"]
    assert (error["code"], error["message"]) == (3, "execution reverted: no")
    assert error["data"].startswith("0x08c379a0")
    assert "error" not in done


def test_a_halt_is_reported_with_the_code_of_the_evm(client: ApiClient) -> None:
    (block,) = simulate(
        client, calls({"to": CONTRACT}, stateOverrides={CONTRACT: {"code": "0xfe"}})
    )
    (halted,) = block["calls"]
    assert (halted["status"], halted["error"]["code"]) == ("0x0", -32015)


def test_a_simulation_starts_from_any_block(client: ApiClient) -> None:
    client("anvil_setBalance", POOR, "0x64")
    client("evm_mine")
    spend = calls({"from": POOR, "to": str(NOBODY), "value": "0x64"})
    (block,) = simulate(client, spend)
    assert block["number"] == "0x2"
    with pytest.raises(RpcError) as error:
        simulate(client, spend, at="0x0")
    assert error.value.code == -38014


def test_edits_since_the_last_block_count(client: ApiClient) -> None:
    client("anvil_setBalance", POOR, "0x64")
    spend = calls({"from": POOR, "to": str(NOBODY), "value": "0x64"})
    (block,) = simulate(client, spend)
    assert block["calls"][0]["status"] == "0x1"


def validated(**fields: str) -> tuple[list[Any], dict[str, Any]]:
    call = {"from": str(ALICE), "to": str(BOB), "maxFeePerGas": hex(10**10), **fields}
    return [calls(call)], {"validation": True}


TOO_MANY: list[Any] = [{} for _ in range(257)]


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (([], {}), -32602),
        (([calls({"from": POOR, "to": CONTRACT, "value": "0x1"})], {}), -38014),
        (([{"blockOverrides": {"number": "0x0"}}], {}), -38020),
        (([{"blockOverrides": {"time": "0x0"}}], {}), -38021),
        (([{"blockOverrides": {"number": "0x1000"}}], {}), -38026),
        ((TOO_MANY, {}), -38026),
        (([calls({"to": CONTRACT, "gas": "0x10"})], {}), -38013),
        (([calls({"to": CONTRACT, "gas": "0x10000000"})], {}), -38015),
        (([calls({"to": CONTRACT, "maxFeePerGas": "0x" + "ff" * 17})], {}), -32602),
        (([{"blockOverrides": {"time": "0x" + "ff" * 8}}, {}], {}), -32602),
        (validated(nonce="0x7"), -38011),
        (validated(maxFeePerGas="0x1"), -38012),
        (validated(value=hex(10**30)), -38014),
        (([{"stateOverrides": {CONTRACT: {"movePrecompileToAddress": POOR}}}], {}), -32000),
        (([{"stateOverrides": {"0x" + "00" * 19 + "01": {
            "movePrecompileToAddress": "0x" + "00" * 19 + "01"}}}], {}), -38022),
    ],
)  # fmt: skip
def test_errors_have_the_codes_of_the_specification(
    client: ApiClient, question: tuple[list[Any], dict[str, Any]], code: int
) -> None:
    blocks, options = question
    with pytest.raises(RpcError) as error:
        simulate(client, *blocks, **options)
    assert error.value.code == code


def test_a_nonce_that_was_used_is_too_low(client: ApiClient) -> None:
    blocks, options = validated(nonce="0x0")
    blocks[0]["stateOverrides"] = {str(ALICE): {"nonce": "0x5"}}
    with pytest.raises(RpcError, match="nonce too low") as error:
        simulate(client, *blocks, **options)
    assert error.value.code == -38010


def test_init_code_that_is_too_long_is_rejected(client: ApiClient) -> None:
    with pytest.raises(RpcError) as error:
        simulate(client, calls({"from": str(ALICE), "data": "0x" + "00" * 50_000}))
    assert error.value.code == -38025


def test_an_unknown_block_is_named(client: ApiClient) -> None:
    with pytest.raises(RpcError) as error:
        simulate(client, calls(TRANSFER), at="0x99")
    # As in execution-apis.
    assert (error.value.code, error.value.message) == (-32000, "block #153 not found")


def test_a_wrong_field_is_named(client: ApiClient) -> None:
    with pytest.raises(RpcError, match=r"params\[0\]\.blockStateCalls\[0\]\.calls\[0\]\.to"):
        simulate(client, calls({"to": "0x12"}))


@pytest.mark.parametrize(
    "fields",
    [
        {"gasPrice": hex(2**128)},
        {"maxFeePerGas": hex(2**256 - 1)},
        {"maxPriorityFeePerGas": hex(2**128)},
        {
            "authorizationList": [
                {"chainId": "0x0", "address": str(BOB), "nonce": "0x0"}
                | {"yParity": "0xffffffffffffffff", "r": "0x0", "s": "0x0"}
            ]
        },
    ],
)
def test_numbers_that_no_transaction_has_are_rejected(
    client: ApiClient, fields: dict[str, Any]
) -> None:
    with pytest.raises(RpcError, match="too large for a transaction") as rejection:
        simulate(client, calls(TRANSFER | fields))
    assert rejection.value.code == -32602


@pytest.mark.parametrize("missing", [0, 3])
def test_no_block_comes_after_the_end_of_time(client: ApiClient, missing: int) -> None:
    last = {"blockOverrides": {"time": "0xffffffffffffffff"}}
    assert simulate(client, last)[0]["timestamp"] == "0xffffffffffffffff"
    after = {"blockOverrides": {"number": hex(2 + missing)}}
    with pytest.raises(RpcError, match="the time of a block is at most") as rejection:
        simulate(client, last, after)
    assert rejection.value.code == -32602


def test_calls_nested_as_deep_as_possible_are_rendered(client: ApiClient) -> None:
    # Calls itself until no call is possible any more: some 600 calls within each other.
    code = {CONTRACT: {"code": "0x5f5f5f5f5f305af1"}}
    call = {"from": str(ALICE), "to": CONTRACT, "value": "0x1", "gas": hex(30_000_000)}
    (block,) = simulate(client, calls(call, stateOverrides=code), traceTransfers=True)
    assert block["calls"][0]["status"] == "0x1"
    assert [log["address"] for log in block["calls"][0]["logs"]] == ["0x" + "ee" * 20]
