"""web3.py over a WebSocket: one connection for requests and subscriptions, in binary frames."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from web3 import AsyncWeb3, WebSocketProvider
from web3.exceptions import ContractLogicError, Web3RPCError
from websockets.sync.client import connect

from tests.support.clients.accounts import ALICE, CHAIN_ID, GWEI, NOBODY
from tests.support.clients.contracts import CONTRACTS
from tests.support.node_process import RunningNode
from tests.support.polling import PATIENCE_SECONDS

pytestmark = pytest.mark.clients


def address_of(node: RunningNode) -> str:
    return node.url.replace("http", "ws")


def with_socket(node: RunningNode, work: Callable[[AsyncWeb3[Any]], Awaitable[None]]) -> None:
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


def test_a_contract_is_deployed_and_used(node: RunningNode) -> None:
    async def work(web3: AsyncWeb3[Any]) -> None:
        math = await deploy(web3, "math")
        await send(web3, to=math.address, data=math.encode_abi("incrementCounter", [7]))
        assert await math.functions.counter().call() == 7

    with_socket(node, work)


def test_concurrent_requests_have_their_responses(node: RunningNode) -> None:
    async def work(web3: AsyncWeb3[Any]) -> None:
        blocks = await asyncio.gather(*(web3.eth.get_block(0) for _ in range(50)))
        assert len({bytes(block["hash"]) for block in blocks}) == 1

    with_socket(node, work)


def test_a_batch_has_its_responses(node: RunningNode) -> None:
    async def work(web3: AsyncWeb3[Any]) -> None:
        responses: Any
        async with web3.batch_requests() as batch:
            batch.add(web3.eth.get_block(0))
            batch.add(web3.eth.get_balance(NOBODY, 0))
            responses = await batch.async_execute()
        block, balance = responses
        assert (block["number"], balance) == (0, 0)

    with_socket(node, work)


def test_a_revert_is_raised(node: RunningNode) -> None:
    async def work(web3: AsyncWeb3[Any]) -> None:
        reverts = await deploy(web3, "reverts")
        with pytest.raises(ContractLogicError, match=r"Function has been reverted\."):
            await reverts.functions.revertWithMessage().call()

    with_socket(node, work)


def test_new_heads_are_notified(node: RunningNode) -> None:
    async def work(web3: AsyncWeb3[Any]) -> None:
        subscription = await web3.eth.subscribe("newHeads")
        receipt = await send(web3, to=NOBODY, value=1)
        notified = await next_notification(web3)
        assert notified["subscription"] == subscription
        assert notified["result"]["hash"] == receipt["blockHash"]
        assert await web3.eth.unsubscribe(subscription)

    with_socket(node, work)


def test_logs_are_notified_to_their_subscribers(node: RunningNode) -> None:
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
def test_pending_transactions_are_notified(node: RunningNode, full: bool) -> None:
    async def work(web3: AsyncWeb3[Any]) -> None:
        await web3.eth.subscribe("newPendingTransactions", full)
        receipt = await send(web3, to=NOBODY, value=1)
        notified = (await next_notification(web3))["result"]
        assert (notified["hash"] if full else notified) == receipt["transactionHash"]
        assert not full or notified["from"] == ALICE.address

    with_socket(node, work)


def test_nothing_is_notified_after_the_end_of_a_subscription(node: RunningNode) -> None:
    async def work(web3: AsyncWeb3[Any]) -> None:
        heads = await web3.eth.subscribe("newHeads")
        assert await web3.eth.unsubscribe(heads)
        pending = await web3.eth.subscribe("newPendingTransactions")
        await send(web3, to=NOBODY, value=1)
        assert (await next_notification(web3))["subscription"] == pending

    with_socket(node, work)


def test_an_unknown_kind_is_rejected(node: RunningNode) -> None:
    async def work(web3: AsyncWeb3[Any]) -> None:
        with pytest.raises(Web3RPCError):
            await web3.eth.subscribe("gossip")  # type: ignore[arg-type]

    with_socket(node, work)


def test_a_request_that_keeps_a_connection_alive_may_have_no_id(node: RunningNode) -> None:
    with connect(address_of(node)) as socket:
        socket.send('{"jsonrpc":"2.0","id":null,"method":"net_version","params":[]}')
        assert json.loads(socket.recv(PATIENCE_SECONDS)) == {
            "jsonrpc": "2.0",
            "id": None,
            "result": "270",
        }
