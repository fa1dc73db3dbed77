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
MAX_SECONDS_OF_A_REVERT = 0.02
"""What a revert may take, and the full pending block: five times what they take on a slow machine."""

REVERTS = frozenset({"evm_revert", "anvil_revert", "anvil_rollback"})


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


def is_short_pending(request: Request) -> bool:
    """Say whether a request only executes the pending block, which is full."""
    method, params = request
    return method.startswith("eth_getBlock") and "pending" in params


def test_no_request_keeps_the_event_loop_for_long(full: FullNode) -> None:
    dispatcher = full.api.dispatcher
    requests = [*largest_traces(full), *largest_requests(full)]
    assert {method for method, _ in requests} == set(dispatcher.methods)
    too_long = {}
    gc.disable()
    try:
        for request in requests:
            bounded = request[0] in REVERTS or is_short_pending(request)
            allowed = MAX_SECONDS_OF_A_REVERT if bounded else MAX_SECONDS
            taken = loop_seconds(dispatcher, request)
            if taken > allowed:
                too_long[request[0], msgspec.json.encode(request[1])[:80]] = taken
    finally:
        gc.enable()
    assert not too_long
