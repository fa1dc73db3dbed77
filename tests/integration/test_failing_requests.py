"""Failing requests leave nothing behind for the garbage collector, whatever method they call."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from websockets.frames import Opcode

from entresol.node.build_node import build_node
from entresol.node.config.schema import L1Config, NodeConfig
from entresol.node.config.settlement import SettlementSettings
from entresol.rpc.jsonrpc.dispatch import Dispatcher
from entresol.server.config import ServerConfig
from entresol.server.handler import LocalConnection
from tests.support.http_server import RawConnection
from tests.support.node_process import RunningNode, running_node

pytestmark = pytest.mark.slow

REQUESTS: Final = 250
MAX_UNREACHABLE: Final = 20
"""Objects that may be found after so many requests: what one of them leaves behind is found as often."""

NOBODY: Final = "0x" + "11" * 20
RICH: Final = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
PARAMS: Final[tuple[Any, ...]] = (
    7,
    [{}, {}, {}],
    [[], [], []],
    ["0x" + "ff" * 32] * 3,
    ["0xc0", "0xc0", "0xc0"],
    ["0x02c0"],
    ["0x71c0"],
    [{"from": RICH, "to": NOBODY, "gas": "0x1"}],
    [{"from": NOBODY, "to": NOBODY, "value": "0xffffffffffffffff"}],
    # The precompile fails.
    [{"from": RICH, "to": "0x" + "00" * 19 + "09", "data": "0x"}, "latest"],
    [[{"transactions": [{"from": NOBODY, "to": NOBODY, "value": "0x1"}]}], {}],
    [{"blockStateCalls": [{"calls": [{"from": NOBODY, "gas": "0x1", "nonce": "0x7"}]}]}],
    ["logs", {"topics": [[], 1]}],
)
"""Parameters that are wrong, or right for some methods, which then fail."""


@contextmanager
def both_layers() -> Iterator[dict[str, Dispatcher]]:
    """Yield the dispatchers of the two layers of a node that does not settle, and collect no garbage meanwhile."""
    node = build_node(
        NodeConfig(
            l1=L1Config(l1_port=0),
            settlement=SettlementSettings(settle=False),
            server=ServerConfig(port=0),
        )
    )
    assert node.layer_one is not None
    gc.collect()
    # What exists now is not looked at again: that would take most of the time.
    gc.freeze()
    gc.disable()
    try:
        yield {"l1": node.layer_one.api.dispatcher, "l2": node.layer_two.api.dispatcher}
    finally:
        gc.enable()
        gc.unfreeze()
        node.layer_two.api.close()
        node.layer_one.api.close()


async def respond(dispatcher: Dispatcher, body: bytes) -> bytes:
    given = dispatcher.handle(body, LocalConnection())
    response = given if isinstance(given, bytes | None) else await given
    assert response is not None
    return response


def call_of(method: str, params: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


async def failing(dispatcher: Dispatcher, method: str) -> list[bytes]:
    """Return the requests to a method that fail."""
    bodies = [call_of(method, params) for params in PARAMS]
    return [body for body in bodies if b'"error":' in await respond(dispatcher, body)]


async def unreachable_after(dispatcher: Dispatcher, bodies: list[bytes], count: int) -> int:
    """Return how many objects only the garbage collector can free after `count` requests."""
    for body in itertools.islice(itertools.cycle(bodies), count):
        await respond(dispatcher, body)
    # What was scheduled meanwhile holds its request no longer.
    await asyncio.sleep(0)
    return gc.collect()


def test_failing_requests_of_any_method_leave_nothing_to_the_garbage_collector() -> None:
    found: dict[str, int] = {}

    async def send_all() -> None:
        for layer, dispatcher in layers.items():
            for method in dispatcher.methods:
                bodies = await failing(dispatcher, method)
                gc.collect()
                assert bodies, f"{method} never fails"
                count = await unreachable_after(dispatcher, bodies, REQUESTS)
                if count > MAX_UNREACHABLE:
                    found[f"{layer} {method}"] = count

    with both_layers() as layers:
        asyncio.run(send_all())
    assert found == {}


def resident_bytes(node: RunningNode) -> int:
    pages = int(Path(f"/proc/{node.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("flags", [(), ("--workers", "1")], ids=["one process", "workers"])
def test_long_transactions_that_are_rejected_take_no_memory_for_good(
    flags: tuple[str, ...],
) -> None:
    body = call_of("eth_sendRawTransaction", ["0x02" + "f8" * (7 << 20)])
    with running_node("--no-l1", "--log-level", "warning", *flags) as node:
        with RawConnection(node.port) as client:
            for _ in range(4):
                assert b'"error"' in client.post(body).body
            before = resident_bytes(node)
            for _ in range(20):
                assert b'"error"' in client.post(body).body
        with RawConnection(node.port) as client:
            client.open_websocket()
            for _ in range(10):
                client.send_frame(Opcode.TEXT, body)
                assert b'"error"' in client.frame()[1]
        assert resident_bytes(node) - before < 150 << 20
