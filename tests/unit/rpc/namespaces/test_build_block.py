"""Blocks that are built and not sealed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from entresol.errors import DeadlinePassed
from entresol.execution.call.limits import CallLimits
from entresol.primitives.values import Data
from entresol.rpc.jsonrpc.codec import convert
from entresol.rpc.namespaces.build_block import BlockBuilding, PayloadAttributes
from entresol.rpc.services.block_resolver import BlockResolver
from entresol.rpc.services.call_runner import CallRunner
from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import ALICE, BOB, LOGGER, NOBODY, transaction
from tests.support.hex_data import hexed
from tests.support.rpc_client import RpcError

RANDAO = "0x" + "07" * 32


def head(client: ApiClient) -> dict[str, Any]:
    block: dict[str, Any] = client("eth_getBlockByNumber", "latest", False)
    return block


def attributes(client: ApiClient, **more: object) -> dict[str, object]:
    later = int(head(client)["timestamp"], 16) + 5
    return {
        "timestamp": hex(later),
        "prevRandao": RANDAO,
        "suggestedFeeRecipient": str(BOB),
        **more,
    }


def raws(*nonces: int) -> list[str]:
    return [hexed(transaction(nonce, wei=3, tip=5).raw) for nonce in nonces]


def build(client: ApiClient, sent: Any, *more: object, **given: object) -> Any:
    return client(
        "testing_buildBlockV1", head(client)["hash"], attributes(client, **given), sent, *more
    )


def code_of(client: ApiClient, *params: object) -> tuple[int, str]:
    with pytest.raises(RpcError) as rejection:
        client("testing_buildBlockV1", *params)
    return rejection.value.code, rejection.value.message


def seal(client: ApiClient, built: dict[str, Any]) -> dict[str, Any]:
    """Seal what was built, and return the block."""
    payload = built["executionPayload"]
    client("evm_setAutomine", False)
    client("anvil_setNextBlockPrevRandao", RANDAO)
    client("anvil_setCoinbase", str(BOB))
    client("evm_setNextBlockTimestamp", payload["timestamp"])
    for raw in payload["transactions"]:
        client("eth_sendRawTransaction", raw)
    client("evm_mine")
    return head(client)


def test_a_block_has_exactly_the_given_transactions(client: ApiClient) -> None:
    send(client)
    client.chain.schedule.seal_on_request()
    send(client, 0, by=1)
    built = build(client, raws(1, 2))
    payload = built["executionPayload"]
    assert payload["transactions"] == raws(1, 2)
    assert (payload["blockNumber"], payload["gasUsed"]) == ("0x2", hex(42_000))
    assert (payload["feeRecipient"], payload["prevRandao"]) == (str(BOB), RANDAO)
    assert built["blockValue"] == hex(42_000 * 5)
    assert built["blobsBundle"] == {"commitments": [], "proofs": [], "blobs": []}
    assert built["shouldOverrideBuilder"] is False


def test_nothing_is_changed(client: ApiClient) -> None:
    build(client, raws(0))
    assert client("eth_blockNumber") == "0x0"
    assert client("eth_getBalance", str(NOBODY), "pending") == "0x0"
    assert client("txpool_status") == {"pending": "0x0", "queued": "0x0"}


@pytest.mark.parametrize("sent", [[], [0, 1]])
def test_the_block_is_the_one_that_is_sealed_so(client: ApiClient, sent: list[int]) -> None:
    client("anvil_setStorageAt", str(LOGGER), "0x1", RANDAO)
    built = build(client, raws(*sent))
    block = seal(client, built)
    payload = built["executionPayload"]
    assert payload["blockHash"] == block["hash"]
    assert payload["stateRoot"] == block["stateRoot"]


def test_without_transactions_those_of_the_pool_are_taken(client: ApiClient) -> None:
    client("evm_setAutomine", False)
    for raw in raws(0, 1):
        client("eth_sendRawTransaction", raw)
    assert build(client, None)["executionPayload"]["transactions"] == raws(0, 1)
    assert build(client, [])["executionPayload"]["transactions"] == []
    fits_one = build(client, None, targetGasLimit=120_000)["executionPayload"]
    assert fits_one["transactions"] == raws(0)


def test_any_block_may_be_the_parent(client: ApiClient) -> None:
    genesis = head(client)["hash"]
    given = attributes(client)
    send(client)
    payload = client("testing_buildBlockV1", genesis, given, raws(0))["executionPayload"]
    assert (payload["parentHash"], payload["blockNumber"]) == (genesis, "0x1")
    assert (
        client("testing_buildBlockV1", genesis, given, None)["executionPayload"]["transactions"]
        == []
    )


def test_extra_data_and_gas_limit_are_as_given(client: ApiClient) -> None:
    payload = build(client, [], "0x6869", targetGasLimit="0x1c9c380")["executionPayload"]
    assert (payload["extraData"], payload["gasLimit"]) == ("0x6869", "0x1c9c380")


def test_what_cannot_be_built_is_an_error(client: ApiClient) -> None:
    parent, given = head(client)["hash"], attributes(client)
    now = int(head(client)["timestamp"], 16)
    assert code_of(client, parent, {**given, "timestamp": now}, []) == (
        -32602,
        f"timestamp: {now} is not later than {now} of the parent",
    )
    assert code_of(client, "0x" + "ab" * 32, given, [])[1].endswith("not found")
    assert code_of(client, parent, given, raws(1))[1].startswith("nonce too high")
    assert code_of(client, parent, given, ["0x02"])[0] == -32000
    assert code_of(client, parent, given, [], "0x" + "11" * 33) == (
        -32602,
        "extraData: at most 32 bytes are expected, got 33",
    )
    assert code_of(client, parent, {**given, "withdrawals": [{"index": "0x0"}]}, []) == (
        -32602,
        "withdrawals: there are no validators",
    )
    assert code_of(client, parent, given) == (-32602, "params[2]: transactions is missing")
    assert code_of(client, parent, {**given, "targetGasLimit": 21_000}, raws(0))[1].endswith(
        "the transaction needs 100000"
    )


@pytest.mark.parametrize("kind", ["0x2", "0x71"])
def test_the_value_is_what_the_recipient_gets(client: ApiClient, kind: str) -> None:
    given = {"from": str(ALICE), "to": str(NOBODY), "gas": "0x30d40", "type": kind}
    fees = {"maxFeePerGas": hex(3 * 10**9), "maxPriorityFeePerGas": "0x7"}
    raw = client("eth_signTransaction", {**given, **fees})["raw"]
    paid = "0x" + "cc" * 20
    built = build(client, [raw], suggestedFeeRecipient=paid)
    ran = client("eth_callBundle", {"txs": [raw], "blockNumber": 1, "coinbase": paid})
    assert int(built["blockValue"], 16) == int(ran["coinbaseDiff"])


def test_a_transaction_of_the_pool_whose_conditions_do_not_hold_is_left_out(
    client: ApiClient,
) -> None:
    client("evm_setAutomine", False)
    (raw,) = raws(0)
    conditions = {"knownAccounts": {str(LOGGER): {"0x1": "0x" + "00" * 32}}}
    client("eth_sendRawTransactionConditional", raw, conditions)
    assert build(client, None)["executionPayload"]["transactions"] == [raw]
    client("anvil_setStorageAt", str(LOGGER), "0x1", RANDAO)
    assert build(client, None)["executionPayload"]["transactions"] == []
    assert len(client.chain.pool) == 1


def test_a_block_takes_no_longer_than_a_call(client: ApiClient) -> None:
    runner = CallRunner(CallLimits(seconds=0.02))
    building = BlockBuilding(client.chain, BlockResolver(client.chain), runner)
    client("anvil_setCode", str(NOBODY), "0x5b5f56")
    sent = transaction(0, gas=10**9)
    given = convert(attributes(client, targetGasLimit=2 * 10**9), PayloadAttributes)
    parent = client.chain.ledger.head_hash
    work = asyncio.run(building.build_block_v1(parent, given, [Data(sent.raw)])).work
    with pytest.raises(DeadlinePassed, match=r"timeout = 0\.02s"):
        work()


def test_the_gas_limit_is_bounded_as_that_of_blocks_to_come(client: ApiClient) -> None:
    payload = build(client, [], targetGasLimit=hex(2**64 - 1))["executionPayload"]
    assert payload["gasLimit"] == hex(2**63 - 1)
