"""Waits of a small request while another client sends the largest request of each method."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.harness import Row
from entresol.cli import SWITCH_SECONDS
from entresol.node.startup.process_start import collect_less
from tests.support.rollup.full_node import FullNode
from tests.support.rollup.largest_requests import largest_requests

SHOWN: Final = 10

_SMALL: Final = b'{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
_HEADERS: Final = {"Content-Type": "application/json"}


def largest_request_rows() -> Iterable[Row]:
    """Measure the longest wait beside each method at its maximum, and return the longest of all."""
    longest: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, _full_node(Path(folder)) as host:
        for path in sorted(Path(folder).iterdir()):
            method = path.name.partition("-")[2]
            longest[method] = max(longest.get(method, 0.0), longest_wait(host, path.read_bytes()))
    for method, wait in sorted(longest.items(), key=lambda it: -it[1])[:SHOWN]:
        yield Row(what=f"longest wait beside {method}", value=wait, unit="ms")


def longest_wait(host: str, body: bytes) -> float:
    """Return how long a small request waits at most until the response to a large one is there, in ms."""
    sender = threading.Thread(target=_post, args=(host, body))
    connection, longest = http.client.HTTPConnection(host, timeout=60), 0.0
    sender.start()
    while sender.is_alive():
        start = time.perf_counter()
        _exchange(connection, _SMALL)
        longest = max(longest, time.perf_counter() - start)
        time.sleep(0.001)
    return longest * 1e3


def _post(host: str, body: bytes) -> None:
    _exchange(http.client.HTTPConnection(host, timeout=60), body)


def _exchange(connection: http.client.HTTPConnection, body: bytes) -> None:
    connection.request("POST", "/", body, _HEADERS)
    connection.getresponse().read()


@contextlib.contextmanager
def _full_node(folder: Path) -> Iterator[str]:
    """Serve a full node in another process, which writes the requests into a folder; yield its address."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    server = spawn.Process(target=_serve, args=(folder, theirs))
    server.start()
    try:
        yield ours.recv()
    finally:
        server.kill()
        server.join()


def _serve(folder: Path, ready: Connection) -> None:
    full = FullNode()
    full.fill_pool()
    for number, (method, params) in enumerate(largest_requests(full)):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        (folder / f"{number:04}-{method}").write_bytes(msgspec.json.encode(body))

    async def serve() -> None:
        await full.node.start()
        # As `entresol` does.
        sys.setswitchinterval(SWITCH_SECONDS)
        collect_less()
        ready.send(full.node.address)
        await asyncio.Event().wait()

    asyncio.run(serve())
