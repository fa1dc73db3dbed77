from __future__ import annotations

import asyncio
import json
from typing import Any, cast

from entresol.features.explorer.methods.l1_reads import (
    MAX_CONCURRENT,
    MAX_PENDING,
    MAX_PER_SECOND,
    L1Reads,
)
from entresol.l1.remote_layer_one import RemoteLayerOne
from entresol.rpc.jsonrpc.dispatch import Dispatcher
from entresol.server.handler import LocalConnection
from tests.support.loop_time import run_in_virtual_time

HASH = "0x" + "11" * 32


class SlowL1:
    """Responds with the request, once it may."""

    name = "http://l1"

    def __init__(self) -> None:
        self.may_respond = asyncio.Event()
        self.running = 0
        self.most_running = 0

    async def read(self, method: str, *params: object) -> Any:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        await self.may_respond.wait()
        self.running -= 1
        return [method, *params]


async def ask(dispatcher: Dispatcher, method: str, *params: object) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    response = dispatcher.handle(body, LocalConnection())
    if not isinstance(response, bytes):
        assert response is not None
        response = await response
    assert response is not None
    return json.loads(response)


async def test_a_read_is_passed_on_with_its_parameters() -> None:
    l1 = SlowL1()
    l1.may_respond.set()
    found = await ask(
        Dispatcher([L1Reads(cast("RemoteLayerOne", l1))]), "eth_getBlockByHash", HASH, False
    )
    assert found["result"] == ["eth_getBlockByHash", HASH, False]


async def test_what_the_explorer_does_not_read_is_unknown() -> None:
    dispatcher = Dispatcher([L1Reads(cast("RemoteLayerOne", SlowL1()))])
    for method in ("eth_sendRawTransaction", "eth_accounts", "debug_traceTransaction"):
        assert (await ask(dispatcher, method, "0x"))["error"]["code"] == -32601


async def test_few_requests_run_at_once_and_a_flood_is_rejected() -> None:
    l1 = SlowL1()
    dispatcher = Dispatcher([L1Reads(cast("RemoteLayerOne", l1))])
    asked = [
        asyncio.create_task(ask(dispatcher, "eth_blockNumber")) for _ in range(MAX_PENDING + 5)
    ]
    rejected = [await response for response in asked[MAX_PENDING:]]
    assert all("too many requests to L1" in response["error"]["message"] for response in rejected)
    l1.may_respond.set()
    found = [await response for response in asked[:MAX_PENDING]]
    assert all("result" in response for response in found)
    assert l1.most_running == 8


async def test_the_rate_is_limited_for_all_clients_together() -> None:
    l1 = SlowL1()
    l1.may_respond.set()
    dispatcher = Dispatcher([L1Reads(cast("RemoteLayerOne", l1))])
    found = [await ask(dispatcher, "eth_chainId") for _ in range(int(2 * MAX_PER_SECOND))]
    assert any("error" in response for response in found)


def test_an_l1_that_does_not_respond_is_reported_as_such() -> None:
    async def run() -> None:
        dispatcher = Dispatcher([L1Reads(cast("RemoteLayerOne", SlowL1()), seconds=30)])
        asked = [ask(dispatcher, "eth_blockNumber") for _ in range(MAX_CONCURRENT + 1)]
        *sent, waiting = await asyncio.gather(*asked)
        expected = "L1 at http://l1 cannot be reached: no response in 30 seconds"
        assert all(response["error"]["message"] == expected for response in sent)
        assert "too many requests to L1" in waiting["error"]["message"]

    run_in_virtual_time(run())
