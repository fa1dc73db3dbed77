"""web3.py in this process: everything as over HTTP."""

from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from web3 import AsyncHTTPProvider, AsyncWeb3, HTTPProvider, Web3
from web3.exceptions import ProviderConnectionError

from entresol import AsyncEntresolProvider, Devnet, EntresolProvider, devnet
from entresol.errors import DevnetStopped
from tests.support.clients.accounts import signed_transfer

CALLS: list[tuple[str, list[Any]]] = [
    ("eth_chainId", []),
    ("eth_getBlockByNumber", ["latest", True]),
    ("eth_getBalance", ["0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "latest"]),
    ("eth_nothing", []),
    ("eth_getBalance", ["0x12"]),
    ("eth_call", [{"data": "0x60aa5f526001601ffd"}, "latest"]),
    ("eth_sendRawTransaction", [signed_transfer(0, chainId=5)]),
    ("eth_sendRawTransaction", ["0x1234"]),
    ("eth_subscribe", ["newHeads"]),
    ("debug_traceCall", [{"to": "0x" + "11" * 20}, "latest", {"tracer": "callTracer"}]),
]


@pytest.fixture(params=["l1", "l2"])
def layer(net: Devnet, request: pytest.FixtureRequest) -> Any:
    return getattr(net, request.param)


@pytest.mark.parametrize(
    ("method", "params"), CALLS, ids=[f"{n}: {it[0]}" for n, it in enumerate(CALLS)]
)
def test_a_response_is_that_of_http(layer: Any, method: Any, params: list[Any]) -> None:
    ours = EntresolProvider(layer).make_request(method, params)
    assert ours == HTTPProvider(layer.url).make_request(method, params)


def test_threads_share_a_provider(net: Devnet) -> None:
    w3 = Web3(EntresolProvider(net.l2))
    sender, receiver = net.accounts[0].address, net.accounts[1].address

    def send(nonce: int) -> Any:
        fields: Any = {"from": sender, "to": receiver, "value": 1, "gas": 21_000, "nonce": nonce}
        return w3.eth.send_transaction(fields)

    with ThreadPoolExecutor(4) as pool:
        hashes = list(pool.map(send, range(12)))
    assert all(w3.eth.get_transaction_receipt(it)["status"] for it in hashes)


def test_it_starts_a_chain_of_its_own() -> None:
    provider = EntresolProvider(chain_id=1234)
    w3 = Web3(provider)
    assert (w3.eth.chain_id, w3.eth.block_number, w3.is_connected()) == (1234, 0, True)
    provider.close()
    assert not w3.is_connected()
    with pytest.raises(ProviderConnectionError, match="DevnetStopped"):
        w3.is_connected(show_traceback=True)


def test_its_own_chain_stops_when_nothing_refers_to_it() -> None:
    before = {it.name for it in threading.enumerate()}
    provider = EntresolProvider()
    running = {it.name for it in threading.enumerate()} - before
    del provider
    gc.collect()
    assert not [it for it in threading.enumerate() if it.name in running - {"call_0"}]


def test_settings_of_a_given_layer_are_rejected(net: Devnet) -> None:
    with pytest.raises(TypeError, match="of a chain of its own"):
        EntresolProvider(net.l2, chain_id=5)


def client(net: Devnet) -> AsyncWeb3[Any]:
    return AsyncWeb3(AsyncEntresolProvider(net.l2))


async def test_an_asynchronous_response_is_that_of_http(net: Devnet) -> None:
    calls: list[tuple[Any, list[Any]]] = [
        ("eth_getBlockByNumber", ["latest", True]),
        ("eth_nothing", []),
        ("eth_call", [{"data": "0x60aa5f526001601ffd"}, "latest"]),
    ]
    ours, http = AsyncEntresolProvider(net.l2), AsyncHTTPProvider(net.l2.url)
    try:
        for method, params in calls:
            expected = await http.make_request(method, params)
            assert await ours.make_request(method, params) == expected
        expected_batch = await http.make_batch_request(calls)
        assert await ours.make_batch_request(calls) == expected_batch
        too_long: Any = [("eth_chainId", [])] * 501
        rejected: Any = await ours.make_batch_request(too_long)
        assert rejected["error"] == (await http.make_batch_request(too_long))["error"]  # type: ignore[call-overload]
    finally:
        await http.disconnect()


def test_subscriptions_are_notified(net: Devnet) -> None:
    async def listen() -> list[int]:
        async with client(net) as w3:
            await w3.eth.subscribe("newHeads")
            for _ in range(3):
                await w3.manager.coro_request(cast("Any", "evm_mine"), [])
            found = []
            async for message in w3.socket.process_subscriptions():
                found.append(message["result"]["number"])
                if len(found) == 3:
                    return found
        return []

    assert asyncio.run(listen()) == [1, 2, 3]


async def test_subscriptions_end_with_the_connection(net: Devnet) -> None:
    async with client(net) as w3:
        await w3.eth.subscribe("newHeads")
    # Nothing is sent to the loop that has ended.
    net.l2.request("evm_mine")
    assert net.l2.request("eth_blockNumber") == "0x1"


async def test_a_stopped_devnet_is_not_connected() -> None:
    async with devnet(l1=False) as net:
        w3 = client(net)
    assert not await w3.is_connected()
    with pytest.raises(DevnetStopped):
        await w3.is_connected(show_traceback=True)
    with pytest.raises(DevnetStopped):
        await w3.eth.block_number
