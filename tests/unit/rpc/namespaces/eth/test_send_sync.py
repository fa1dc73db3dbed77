"""Sending and waiting for the receipt: receipt, timeout and cleanup."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from entresol.node.config.api import ApiConfig
from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ALICE, NOBODY, open_chain, transaction
from tests.support.hex_data import hexed
from tests.support.rpc_client import RpcError

RAW = hexed(transaction(0).raw)
HASH = str(transaction(0).hash)


def test_a_chain_that_seals_at_once_responds_at_once(client: ApiClient) -> None:
    receipt = client("eth_sendRawTransactionSync", RAW)
    assert receipt == client("eth_getTransactionReceipt", HASH)


@pytest.mark.parametrize("timeout", ["0x7530", 30_000, None, 0])
def test_the_receipt_comes_with_the_block(client: ApiClient, timeout: object) -> None:
    client.chain.schedule.seal_on_request()

    async def wait() -> Any:
        params = [RAW, timeout]
        body = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransactionSync", "params": params}
        heard = asyncio.Event()
        client.chain.events.subscribe(wake=heard.set)
        waiting = asyncio.ensure_future(client.handle(json.dumps(body).encode()))
        await heard.wait()
        # An event that is not about a block must not end the wait.
        client.chain.add(transaction(0, by=1))
        await asyncio.sleep(0)
        assert not waiting.done()
        client.chain.builder.seal()
        return json.loads(await waiting)

    answer = asyncio.run(wait())
    assert answer["result"]["transactionHash"] == HASH


def test_a_timeout_returns_the_hash(client: ApiClient) -> None:
    client.chain.schedule.seal_on_request()
    with pytest.raises(RpcError) as rejection:
        client("eth_sendRawTransactionSync", RAW, 1)
    assert (rejection.value.code, rejection.value.data) == (4, HASH)
    assert rejection.value.message.endswith("no block included it in 0.001 s")
    assert client("eth_getTransactionByHash", HASH)["hash"] == HASH


@pytest.fixture
def hasty() -> Iterator[ApiClient]:
    chain = open_chain()
    chain.schedule.seal_on_request()
    client = ApiClient(chain, config=ApiConfig(receipt_seconds=0.001))
    yield client
    client.api.close()
    chain.close()


def test_the_node_bounds_the_timeout(hasty: ApiClient) -> None:
    with pytest.raises(RpcError) as rejection:
        hasty("eth_sendRawTransactionSync", RAW, 60_000)
    assert rejection.value.code == 4


def test_a_rejection_comes_at_once(client: ApiClient) -> None:
    client("eth_sendRawTransactionSync", RAW)
    with pytest.raises(RpcError, match="nonce too low"):
        client("eth_sendRawTransactionSync", RAW)


def test_the_event_subscription_ends_with_the_request(client: ApiClient) -> None:
    listeners = dict(client.chain.events._listeners)
    client("eth_sendRawTransactionSync", RAW)
    assert client.chain.events._listeners == listeners


def test_a_transaction_of_an_account_of_the_node_returns_its_receipt(client: ApiClient) -> None:
    receipt = client("eth_sendTransactionSync", {"from": str(ALICE), "to": str(NOBODY)})
    assert receipt["status"] == "0x1"
    assert receipt == client("eth_getTransactionReceipt", receipt["transactionHash"])


def test_a_timeout_of_such_a_transaction_returns_its_hash(client: ApiClient) -> None:
    client.chain.schedule.seal_on_request()
    with pytest.raises(RpcError) as rejection:
        client("eth_sendTransactionSync", {"from": str(ALICE), "to": str(NOBODY)}, 1)
    assert rejection.value.code == 4
    (pending,) = client("eth_pendingTransactions")
    assert pending["hash"] == rejection.value.data
