"""web3.py over a WebSocket, in binary frames, as far as its own tests, which tests/conformance runs, do not go."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from web3 import AsyncWeb3, WebSocketProvider
from websockets.sync.client import connect

from tests.support.clients.accounts import ALICE, CHAIN_ID, GWEI, NOBODY
from tests.support.clients.contracts import CONTRACTS
from tests.support.inprocess_node import InprocessNode
from tests.support.polling import PATIENCE_SECONDS

pytestmark = pytest.mark.clients


def address_of(node: InprocessNode) -> str:
    return node.url.replace("http", "ws")


def with_socket(node: InprocessNode, work: Callable[[AsyncWeb3[Any]], Awaitable[None]]) -> None:
    async def run() -> None:
        async with AsyncWeb3(WebSocketProvider(address_of(node))) as web3:
            await asyncio.wait_for(work(web3), PATIENCE_SECONDS)

    asyncio.run(run())


async def send(web3: AsyncWeb3[Any], **fields: Any) -> Any:
    transaction = {
        "chainId": CHAIN_ID,
        "nonce": await web3.eth.get_transaction_count(ALICE.address, "pending"),
        "gas": 2_000_000,
        "value": 0,
        "maxFeePerGas": GWEI,
        "maxPriorityFeePerGas": 0,
        **fields,
    }
    signed = ALICE.sign_transaction(transaction)
    sent = await web3.eth.send_raw_transaction(signed.raw_transaction)
    return await web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.01)


async def deploy(web3: AsyncWeb3[Any], name: str) -> Any:
    receipt = await send(web3, data=CONTRACTS[name]["bytecode"])
    return web3.eth.contract(receipt["contractAddress"], abi=CONTRACTS[name]["abi"])


async def next_notification(web3: AsyncWeb3[Any]) -> Any:
    """Return the next notification."""
    async for notified in web3.socket.process_subscriptions():
        return notified
    raise AssertionError("the connection ended")


def test_logs_are_notified_to_their_subscribers(node: InprocessNode) -> None:
    async def work(web3: AsyncWeb3[Any]) -> None:
        emitter = await deploy(web3, "emitter")
        topic = emitter.events.LogSingleWithIndex.topic
        wanted: Any = {"address": emitter.address, "topics": [topic]}
        await web3.eth.subscribe("logs", wanted)
        await send(web3, to=emitter.address, data=emitter.encode_abi("logSingle", [2, 1]))
        await send(web3, to=emitter.address, data=emitter.encode_abi("logSingle", [7, 9]))
        notified = await next_notification(web3)
        assert emitter.events.LogSingleWithIndex().process_log(notified["result"]).args.arg0 == 9

    with_socket(node, work)


@pytest.mark.parametrize("full", [False, True])
def test_pending_transactions_are_notified(node: InprocessNode, full: bool) -> None:
    async def work(web3: AsyncWeb3[Any]) -> None:
        await web3.eth.subscribe("newPendingTransactions", full)
        receipt = await send(web3, to=NOBODY, value=1)
        notified = (await next_notification(web3))["result"]
        assert (notified["hash"] if full else notified) == receipt["transactionHash"]
        assert not full or notified["from"] == ALICE.address

    with_socket(node, work)


def test_a_request_that_keeps_a_connection_alive_may_have_no_id(node: InprocessNode) -> None:
    with connect(address_of(node)) as socket:
        socket.send('{"jsonrpc":"2.0","id":null,"method":"net_version","params":[]}')
        assert json.loads(socket.recv(PATIENCE_SECONDS)) == {
            "jsonrpc": "2.0",
            "id": None,
            "result": "270",
        }
