"""Every method at its allowed maximum: how long it keeps the event loop from other clients."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import msgspec
import pytest

from entresol.rpc.jsonrpc.connection import LocalConnection
from entresol.rpc.jsonrpc.dispatch import Dispatcher
from tests.support.loop_time import measured_callbacks
from tests.support.rollup.full_node import FullNode
from tests.support.rollup.largest_requests import Request, largest_requests
from tests.support.rollup.largest_traces import largest_traces

pytestmark = pytest.mark.slow

MAX_SECONDS = 0.15
"""Five times what the longest takes on a slow machine: 15 MiB of JSON that have to be scanned."""
MAX_SECONDS_WITH_A_BLOCK = 1.0
"""What the full pending block may take, which is executed on the event loop, or what replaces a long chain."""

REPLACES_BLOCKS = frozenset(
    {
        *("evm_revert", "anvil_revert", "anvil_rollback", "anvil_reorg"),
        *("anvil_reset", "hardhat_reset", "anvil_loadState", "hardhat_loadState"),
    }
)


@pytest.fixture(scope="module")
def full() -> Iterator[FullNode]:
    full = FullNode()
    full.fill_pool()
    yield full
    full.close()


def loop_seconds(dispatcher: Dispatcher, request: Request) -> float:
    """Return the CPU time of the longest callback of the event loop until the response is there."""
    method, params = request
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    async def respond() -> None:
        response = dispatcher.handle(body, LocalConnection())
        if not isinstance(response, bytes | None):
            await response

    with measured_callbacks() as measured:
        asyncio.run(respond())
    return measured.longest


def is_pending(request: Request) -> bool:
    """Say whether a request executes the pending block, which is full."""
    method, params = request
    return "pending" in params or method in {"zks_estimateFee", "zks_estimateGasL1ToL2"}


def test_no_request_keeps_the_event_loop_for_long(full: FullNode) -> None:
    dispatcher = full.api.dispatcher
    requests = [*largest_traces(full), *largest_requests(full)]
    assert {method for method, _ in requests} == set(dispatcher.methods)
    too_long = {}
    gc.disable()
    try:
        for request in requests:
            allowed = (
                MAX_SECONDS_WITH_A_BLOCK
                if request[0] in REPLACES_BLOCKS or is_pending(request)
                else MAX_SECONDS
            )
            taken = loop_seconds(dispatcher, request)
            if taken > allowed:
                too_long[request[0], msgspec.json.encode(request[1])[:80]] = taken
    finally:
        gc.enable()
    assert not too_long
