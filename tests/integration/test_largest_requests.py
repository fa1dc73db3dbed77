"""Every method at its allowed maximum: how long it keeps the event loop from other clients."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import closing, contextmanager

import msgspec
import pytest

from entresol.rpc.jsonrpc.dispatch import Dispatcher
from entresol.server.handler import LocalConnection
from tests.support.loop_time import measured_callbacks
from tests.support.rollup.full_node import FullNode
from tests.support.rollup.largest_requests import Request, largest_requests, largest_traces

pytestmark = pytest.mark.slow

MAX_SECONDS = 0.1
"""Nearly three times what the longest takes on a slow machine: a pool of 20,000 that is dropped."""
MAX_SECONDS_OF_A_REVERT = 0.02
"""The time of a revert, and of the full pending block: five times what they take on a slow machine."""

REVERTS = frozenset({"evm_revert", "anvil_revert", "anvil_rollback"})


ATTEMPTS = 3
"""A machine with other work on it adds to the time: what is too long is so on each of several nodes."""


@contextmanager
def full_node() -> Iterator[FullNode]:
    with closing(FullNode()) as full:
        full.fill_pool()
        yield full


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


def test_no_request_keeps_the_event_loop_for_long() -> None:
    with full_node() as full:
        too_long = found_too_long(full)
    for _ in range(1, ATTEMPTS):
        if too_long:
            with full_node() as full:
                again = found_too_long(full)
            too_long = {request: again[request] for request in too_long if request in again}
    assert not too_long


def found_too_long(full: FullNode) -> dict[tuple[int, str], float]:
    """Return the requests that keep the event loop for too long, by place and method: how often their time they take."""
    dispatcher = full.api.dispatcher
    requests = [*largest_traces(full), *largest_requests(full)]
    # Of the others no parameter makes a large one.
    others = sorted(set(dispatcher.methods) - {method for method, _ in requests})
    requests = [*((method, ()) for method in others), *requests]
    gc.disable()
    try:
        taken = {
            (at, request[0]): loop_seconds(dispatcher, request) / allowed_seconds(request)
            for at, request in enumerate(requests)
        }
    finally:
        gc.enable()
    return {request: parts for request, parts in taken.items() if parts > 1}


def allowed_seconds(request: Request) -> float:
    is_bounded = request[0] in REVERTS or is_short_pending(request)
    return MAX_SECONDS_OF_A_REVERT if is_bounded else MAX_SECONDS
