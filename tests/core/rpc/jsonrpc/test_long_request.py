"""Requests of one connection are called in order, though long ones are scanned first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from entresol.rpc.jsonrpc.long_request import ScanOrder
from entresol.rpc.jsonrpc.request_batch import Response
from entresol.server.handler import LocalConnection


class Called:
    """Calls that a test sends over connections, and notes."""

    def __init__(self) -> None:
        self.order = ScanOrder()
        self.names: list[str] = []

    def send(
        self, name: str, connection: LocalConnection, scan: Awaitable[None]
    ) -> asyncio.Future[bytes | None]:
        """Send a request that is called after its scan."""

        def call(_scanned: None) -> Response:
            self.names.append(name)
            return name.encode()

        return asyncio.ensure_future(self.order.call(connection, scan, call))


async def _nothing() -> None:
    return None


async def _failing() -> None:
    raise ValueError("not scanned")


async def test_what_follows_a_long_request_is_called_after_it() -> None:
    called, connection = Called(), LocalConnection()
    scan: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    sent = [called.send("long", connection, scan)]
    assert called.order.is_behind(connection)
    sent += [called.send(name, connection, _nothing()) for name in ("next", "last")]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert called.names == []
    scan.set_result(None)
    assert await asyncio.gather(*sent) == [b"long", b"next", b"last"]
    assert not called.order.is_behind(connection)
    assert called.names == ["long", "next", "last"]


async def test_another_connection_is_not_held() -> None:
    called, other = Called(), LocalConnection()
    scan: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    held = called.send("long", LocalConnection(), scan)
    assert not called.order.is_behind(other)
    response = await called.send("other", other, _nothing())
    scan.set_result(None)
    await held
    assert response == b"other"


async def test_a_scan_that_fails_holds_nothing_any_more() -> None:
    called, connection = Called(), LocalConnection()
    failing = called.send("failing", connection, _failing())
    behind = called.send("behind", connection, _nothing())
    with pytest.raises(ValueError, match="not scanned"):
        await failing
    assert await behind == b"behind"
    assert not called.order.is_behind(connection)
