"""Submitting and looking up transactions over JSON-RPC."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.chain.api_client import ApiClient, send
from tests.support.chain.dev_chain import ALICE, ETHER, NOBODY, transaction
from tests.support.hex_data import hexed
from tests.support.rpc_client import RpcError


def test_a_transaction_is_found_by_hash_location_and_nonce(client: ApiClient) -> None:
    sent = send(client)
    whole = client("eth_getTransactionByHash", sent)
    block = client("eth_getBlockByNumber", "0x1", False)["hash"]
    assert client("eth_getTransactionByBlockNumberAndIndex", "0x1", "0x0") == whole
    assert client("eth_getTransactionByBlockHashAndIndex", block, "0x0") == whole
    assert client("eth_getTransactionBySenderAndNonce", hexed(ALICE), "0x0") == whole
    assert client("eth_getTransactionByBlockNumberAndIndex", "0x1", "0x1") is None
    assert client("eth_getRawTransactionByHash", sent) == hexed(transaction(0).raw)


def test_a_pending_transaction_has_no_location_and_no_receipt(client: ApiClient) -> None:
    client.chain.schedule.seal_on_request()
    sent = send(client)
    assert client("eth_getTransactionByHash", sent)["blockNumber"] is None
    assert client("eth_getTransactionReceipt", sent) is None
    client.chain.seal()
    assert client("eth_getTransactionReceipt", sent)["status"] == "0x1"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"wei": 1_000 * ETHER}, "insufficient funds for gas * price + value"),
        ({"to": NOBODY, "data": bytes(200_000)}, "oversized data"),
    ],
)
def test_a_rejected_transaction_is_rejected_in_geths_words(
    client: ApiClient, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(RpcError) as caught:
        send(client, **fields)
    assert caught.value.code == -32000
    assert caught.value.message.startswith(message)


def test_a_nonce_that_was_used_is_too_low(client: ApiClient) -> None:
    send(client)
    with pytest.raises(RpcError, match="-32000: nonce too low: next nonce 1, tx nonce 0"):
        send(client, wei=2)


EMPTY = "0x" + "00" * 32


def test_the_bytes_of_a_transaction_are_found_by_its_location(client: ApiClient) -> None:
    send(client)
    block = client("eth_getBlockByNumber", "0x1", False)["hash"]
    raw = hexed(transaction(0).raw)
    assert client("eth_getRawTransactionByBlockNumberAndIndex", "0x1", "0x0") == raw
    assert client("eth_getRawTransactionByBlockHashAndIndex", block, "0x0") == raw
    assert client("eth_getRawTransactionByBlockNumberAndIndex", "0x1", "0x1") is None
    assert client("eth_getRawTransactionByBlockNumberAndIndex", "0x9", "0x0") is None
    assert client("eth_getRawTransactionByBlockHashAndIndex", EMPTY, "0x0") is None
