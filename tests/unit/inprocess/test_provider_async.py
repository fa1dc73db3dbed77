"""web3.py on an event loop in this process: calls, batches and subscriptions."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from web3 import AsyncHTTPProvider, AsyncWeb3

from entresol import AsyncEntresolProvider, Devnet, devnet
from entresol.errors import DevnetStopped


def client(net: Devnet) -> AsyncWeb3[Any]:
    return AsyncWeb3(AsyncEntresolProvider(net.l2))


async def test_a_response_is_that_of_http(net: Devnet) -> None:
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
