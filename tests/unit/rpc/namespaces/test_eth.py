"""The methods of `eth` that read the chain."""

from __future__ import annotations

from typing import Any

import pytest

from entresol._native import keccak256, rlp_encode, verify_proof
from tests.support.chain.api_client import Client, hexed, send
from tests.support.chain.dev_chain import ALICE, ETHER, FEE, LOG_CODE, LOGGER, NOBODY, transaction
from tests.support.rpc_client import RpcError


def test_a_node_says_who_it_is(client: Client) -> None:
    assert client("eth_chainId") == "0x10e"
    assert client("net_version") == "270"
    assert client("net_listening") is False
    assert client("net_peerCount") == "0x0"
    assert client("web3_clientVersion").startswith("entresol/v")
    assert client("web3_sha3", "0x") == hexed(keccak256(b""))
    assert client("eth_syncing") is False


def test_a_fresh_chain_is_at_block_zero(client: Client) -> None:
    assert client("eth_blockNumber") == "0x0"
    assert client("eth_getBlockByNumber", "earliest", False)["number"] == "0x0"


def test_a_block_is_the_same_by_number_tag_and_hash(client: Client) -> None:
    send(client)
    block = client("eth_getBlockByNumber", "0x1", False)
    assert client("eth_getBlockByNumber", "latest", False) == block
    assert client("eth_getBlockByHash", block["hash"], False) == block
    assert client("eth_getHeaderByHash", block["hash"])["hash"] == block["hash"]


def test_full_transactions_are_what_the_flag_asks_for(client: Client) -> None:
    sent = send(client)
    assert client("eth_getBlockByNumber", "0x1", False)["transactions"] == [sent]
    (whole,) = client("eth_getBlockByNumber", "0x1", True)["transactions"]
    assert whole == client("eth_getTransactionByHash", sent)


@pytest.mark.parametrize("number", ["0x64", "0xffffffffffffffff"])
def test_a_block_that_is_not_there_is_null(client: Client, number: str) -> None:
    assert client("eth_getBlockByNumber", number, False) is None
    assert client("eth_getBlockReceipts", number) is None
    assert client("eth_getBlockTransactionCountByNumber", number) is None


@pytest.mark.parametrize("tag", ["safe", "finalized", "l1_committed", "precommitted"])
def test_confirmed_blocks_start_at_genesis(client: Client, tag: str) -> None:
    send(client)
    assert client("eth_getBlockByNumber", tag, False)["number"] == "0x0"


def test_the_pending_block_has_what_waits(client: Client) -> None:
    client.chain.schedule.seal_on_request()
    sent = send(client)
    pending = client("eth_getBlockByNumber", "pending", False)
    assert (pending["number"], pending["transactions"]) == ("0x1", [sent])
    assert client("eth_getBlockTransactionCountByNumber", "pending") == "0x1"
    assert client("eth_getBalance", hexed(NOBODY), "pending") == "0x1"
    assert client("eth_getBalance", hexed(NOBODY), "latest") == "0x0"


def test_a_transaction_is_found_by_hash_place_and_nonce(client: Client) -> None:
    sent = send(client)
    whole = client("eth_getTransactionByHash", sent)
    block = client("eth_getBlockByNumber", "0x1", False)["hash"]
    assert client("eth_getTransactionByBlockNumberAndIndex", "0x1", "0x0") == whole
    assert client("eth_getTransactionByBlockHashAndIndex", block, "0x0") == whole
    assert client("eth_getTransactionBySenderAndNonce", hexed(ALICE), "0x0") == whole
    assert client("eth_getTransactionByBlockNumberAndIndex", "0x1", "0x1") is None
    assert client("eth_getRawTransactionByHash", sent) == hexed(transaction(0).raw)


def test_a_waiting_transaction_has_no_place_and_no_receipt(client: Client) -> None:
    client.chain.schedule.seal_on_request()
    sent = send(client)
    assert client("eth_getTransactionByHash", sent)["blockNumber"] is None
    assert client("eth_getTransactionReceipt", sent) is None
    client.chain.seal()
    assert client("eth_getTransactionReceipt", sent)["status"] == "0x1"


def test_state_is_read_at_any_block(client: Client) -> None:
    for nonce in range(3):
        send(client, nonce, wei=10)
    balances = [client("eth_getBalance", hexed(NOBODY), hex(number)) for number in range(4)]
    assert balances == ["0x0", "0xa", "0x14", "0x1e"]
    block = client("eth_getBlockByNumber", "0x2", False)["hash"]
    assert client("eth_getBalance", hexed(NOBODY), {"blockHash": block}) == "0x14"
    assert client("eth_getTransactionCount", hexed(ALICE), {"blockNumber": "0x1"}) == "0x1"


def test_the_pending_nonce_counts_what_waits(client: Client) -> None:
    client.chain.schedule.seal_on_request()
    send(client, 0)
    send(client, 1)
    send(client, 3)
    assert client("eth_getTransactionCount", hexed(ALICE), "pending") == "0x2"
    assert client("eth_getTransactionCount", hexed(ALICE), "latest") == "0x0"


def test_code_and_storage_are_read(client: Client) -> None:
    assert client("eth_getCode", hexed(LOGGER)) == hexed(LOG_CODE)
    assert client("eth_getCode", hexed(NOBODY)) == "0x"
    assert client("eth_getStorageAt", hexed(LOGGER), "0x0") == hexed(bytes(32))
    assert client("eth_getAccountInfo", hexed(LOGGER))["code"] == hexed(LOG_CODE)


def test_a_proof_leads_from_the_state_root_to_the_account(client: Client) -> None:
    send(client)
    root = client("eth_getBlockByNumber", "0x1", False)["stateRoot"]
    proof = client("eth_getProof", hexed(NOBODY), ["0x0"], "0x1")
    account = rlp_encode([b"", b"\x01", bytes.fromhex(proof["storageHash"][2:]), keccak256(b"")])
    nodes = [bytes.fromhex(node[2:]) for node in proof["accountProof"]]
    verify_proof(bytes.fromhex(root[2:]), keccak256(NOBODY), account, nodes)
    assert proof["storageProof"] == [{"key": hexed(bytes(32)), "value": "0x0", "proof": []}]


def test_a_state_to_come_is_an_error(client: Client) -> None:
    with pytest.raises(RpcError) as caught:
        client("eth_getBalance", hexed(ALICE), "0x64")
    assert caught.value.code == -32602


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"wei": 1_000 * ETHER}, "insufficient funds for gas * price + value"),
        ({"to": NOBODY, "data": bytes(200_000)}, "oversized data"),
    ],
)
def test_a_rejected_transaction_is_rejected_in_geths_words(
    client: Client, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(RpcError) as caught:
        send(client, **fields)
    assert caught.value.code == -32000
    assert caught.value.message.startswith(message)


def test_a_nonce_that_was_used_is_too_low(client: Client) -> None:
    send(client)
    with pytest.raises(RpcError, match="-32000: nonce too low: next nonce 1, tx nonce 0"):
        send(client, wei=2)


def test_prices_follow_the_base_fee(client: Client) -> None:
    assert client("eth_gasPrice") == hex(FEE)
    assert client("eth_maxPriorityFeePerGas") == "0x0"
    assert client("eth_baseFee") == hex(FEE)


@pytest.mark.parametrize("count", ["0x2", 2])
def test_the_fee_history_takes_a_count_of_either_kind(client: Client, count: object) -> None:
    send(client)
    history = client("eth_feeHistory", count, "latest", [50])
    assert history["oldestBlock"] == "0x0"
    assert len(history["baseFeePerGas"]) == 3
    assert history["reward"] == [["0x0"], ["0x0"]]


@pytest.mark.parametrize(
    ("method", "params", "place"),
    [
        ("eth_getBalance", ["0x12"], "params[0]: an address is 20 bytes, got 1"),
        ("eth_getBalance", [hexed(ALICE), "newest"], "params[1]: not a block number or tag"),
        ("eth_getBlockByNumber", [1, False], "params[0]"),
        ("eth_getBlockByNumber", ["0x1"], "params[1]"),
        ("eth_sendRawTransaction", ["0xzz"], "params[0]: data is written in hex digits"),
    ],
)
def test_a_wrong_parameter_is_named_by_its_place(
    client: Client, method: str, params: list[object], place: str
) -> None:
    with pytest.raises(RpcError) as caught:
        client(method, *params)
    assert caught.value.code == -32602
    assert place in caught.value.message


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("eth_getLogs", "object"),
        ("eth_signTypedData_v4", ["object", "string"]),
        ("evm_mine", ["object", "string", "integer"]),
    ],
)
def test_objects_are_described_as_objects(client: Client, name: str, kinds: object) -> None:
    methods = {it["name"]: it for it in client("rpc.discover")["methods"]}
    schema = methods[name]["params"][-1]["schema"]
    assert schema.get("anyOf", [schema])[0]["type"] == kinds
