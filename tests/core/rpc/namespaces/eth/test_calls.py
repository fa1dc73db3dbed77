"""Calls, bundles of calls, and simulated blocks."""

from __future__ import annotations

from typing import Any

import pytest

from entresol.node.api.dialect import Dialect
from entresol.node.config.api import ApiConfig
from entresol.primitives.values import Address
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.api_client import REVERT, TARGET, ApiClient, running_api, with_code
from tests.support.chain.dev_chain import ALICE, BOB, ETHER, LOGGER, NOBODY, transaction
from tests.support.chain.steering import set_balance, set_code
from tests.support.hex_data import hexed, word
from tests.support.rpc_client import RpcError

RETURN_NUMBER = "0x43 5f 52 6020 5f f3".replace(" ", "")


def test_a_call_runs_on_the_block_it_names(client: ApiClient) -> None:
    for nonce in range(3):
        InlineSequencer(client.chain).submit(transaction(nonce).raw)
    responses = [
        client("eth_call", {"to": TARGET}, block, with_code(RETURN_NUMBER))
        for block in ("latest", "0x1", "earliest", {"blockNumber": "0x2"})
    ]
    assert responses == [hexed(word(number)) for number in (3, 1, 0, 2)]


def test_a_block_override_changes_what_a_call_sees(client: ApiClient) -> None:
    code = with_code(RETURN_NUMBER)
    response = client("eth_call", {"to": TARGET}, "latest", code, {"number": "0x4d"})
    assert response == hexed(word(0x4D))


@pytest.mark.parametrize("more", [{"value": hex(1_000 * ETHER)}, {"gasPrice": hex(ETHER)}])
def test_a_transfer_beyond_the_balance_has_an_estimate_for_developers(
    client: ApiClient, more: dict[str, str]
) -> None:
    request = {"from": hexed(ALICE), "to": hexed(NOBODY), **more}
    assert client("eth_estimateGas", request) == hex(21_000)
    with pytest.raises(RpcError, match="-32000: "):
        client("eth_estimateGas", {**request, "to": TARGET}, "latest", with_code("0x00"))


def test_an_estimate_beyond_the_balance_is_rejected() -> None:
    request = {"from": hexed(ALICE), "to": hexed(NOBODY), "value": hex(1_000 * ETHER)}
    rejected = pytest.raises(RpcError, match="-32000: insufficient funds")
    with running_api(dev_methods=False) as client, rejected:
        client("eth_estimateGas", request)


@pytest.mark.parametrize("extra", [{}, {"accessList": []}])
def test_an_access_list_has_an_error_only_if_the_call_has_failed(
    client: ApiClient, extra: dict[str, object]
) -> None:
    request = {"from": hexed(ALICE), "to": hexed(NOBODY), **extra}
    assert client("eth_createAccessList", request).keys() == {"accessList", "gasUsed"}
    set_code(client.chain, NOBODY, REVERT)
    failed = client("eth_createAccessList", request)
    assert failed["error"] == "execution reverted: no"


HARDHAT = ApiConfig(hardhat_errors=True)
RETURNING = ApiConfig(hardhat_call_failures=False)


@pytest.mark.parametrize("extra", [{}, {"gasPrice": "0x77359400"}, {"data": "0x1234"}])
def test_in_hardhat_a_transaction_that_its_sender_cannot_pay_for_has_an_estimate(
    extra: dict[str, object],
) -> None:
    request = {"from": TARGET, "to": hexed(NOBODY), "value": hex(ETHER), **extra}
    with running_api(config=HARDHAT, dialect=Dialect.layer_two(HARDHAT)) as client:
        assert int(client("eth_estimateGas", request), 16) >= 21_000
        set_code(client.chain, NOBODY, REVERT)
        with pytest.raises(RpcError, match="3: execution reverted: no"):
            client("eth_estimateGas", request)


def test_a_failed_call_may_have_a_result() -> None:
    with running_api(config=RETURNING) as client:
        assert client("eth_call", {"to": TARGET}, "latest", with_code("0xfe")) == "0x"
        returned = client("eth_call", {"to": TARGET}, "latest", with_code(REVERT))
        assert returned.startswith("0x08c379a0")
        set_code(client.chain, Address.parse(TARGET), REVERT)
        assert client("eth_call", {"to": TARGET}) == returned
        with pytest.raises(RpcError, match="3: execution reverted: no"):
            client("eth_estimateGas", {"to": TARGET})


@pytest.mark.parametrize(
    ("method", "params", "place"),
    [
        ("eth_call", [{"to": "0x12"}], "params[0].to: an address is 20 bytes, got 1"),
        ("eth_call", [{"gas": "lots"}], "params[0].gas"),
        ("eth_call", [{}, "latest", {"0x12": {}}], "0x12: an address is 20 bytes, got 1"),
        ("eth_call", [{}, "latest", {TARGET: {"balance": "-1"}}], "balance"),
        ("eth_callMany", [[{}]], "params[0][0].transactions"),
        ("eth_callMany", [[{"transactions": [{"to": 5}]}]], "params[0][0].transactions[0].to"),
        ("eth_callMany", [[], {"transactionIndex": "some"}], "params[1].transactionIndex"),
        (
            "eth_callMany",
            [[{"transactions": [], "blockOverride": {"blockHash": {"x": hexed(word(1))}}}]],
            "x: ",
        ),
        (
            "eth_simulateV1",
            [{"blockStateCalls": [{"calls": [{"to": "0x12"}]}]}, "latest"],
            "params[0].blockStateCalls[0].calls[0].to",
        ),
    ],
)
def test_a_wrong_field_is_named(
    client: ApiClient, method: str, params: list[object], place: str
) -> None:
    rejection = client.error(method, *params)
    assert rejection.code == -32602
    assert place in rejection.message


COUNTER = "0xc100000000000000000000000000000000000000"
COUNT = {"to": COUNTER}
# Returns the balance of the account that the call data names.
BALANCES = {COUNTER: {"code": "0x5f35315f5260205ff3"}}
BALANCE = {"to": COUNTER, "data": "0x" + bytes(NOBODY).rjust(32, b"\0").hex()}


def values(answer: Any) -> list[list[int]]:
    return [[int(call["value"], 16) for call in bundle] for bundle in answer]


def test_the_bundles_of_a_request_may_not_override_too_many_block_hashes(client: ApiClient) -> None:
    half = {hex(number): hexed(word(1)) for number in range(10_001)}
    bundles = [{"transactions": [], "blockOverride": {"blockHash": half}} for _ in range(2)]
    rejection = client.error("eth_callMany", bundles, {})
    assert rejection.code == -32602
    assert "block hashes" in rejection.message


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


def test_no_bundles_have_no_results(client: ApiClient) -> None:
    assert client("eth_callMany", []) == []
    assert client("eth_callMany", [{"transactions": []}]) == [[]]


POOR = "0xc000000000000000000000000000000000000000"
CONTRACT = "0xc100000000000000000000000000000000000000"
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


def test_a_simulation_starts_from_any_block(client: ApiClient) -> None:
    set_balance(client.chain, Address.parse(POOR), 100)
    client.chain.builder.seal()
    spend = calls({"from": POOR, "to": str(NOBODY), "value": "0x64"})
    (block,) = simulate(client, spend)
    assert block["number"] == "0x2"
    with pytest.raises(RpcError, match="-38014"):
        simulate(client, spend, at="0x0")


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
        (([calls({"from": str(ALICE), "data": "0x" + "00" * 50_000})], {}), -38025),
        (([{**validated(nonce="0x0")[0][0], "stateOverrides": {str(ALICE): {"nonce": "0x5"}}}],
          {"validation": True}), -38010),
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
    with pytest.raises(RpcError, match=str(code)):
        simulate(client, *blocks, **options)


def test_an_unknown_block_is_named(client: ApiClient) -> None:
    with pytest.raises(RpcError) as error:
        simulate(client, calls(TRANSFER), at="0x99")
    # As in execution-apis.
    assert (error.value.code, error.value.message) == (-32000, "block #153 not found")


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
