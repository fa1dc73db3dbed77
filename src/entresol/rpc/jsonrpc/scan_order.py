"""Call the requests of a connection in order, though long ones are scanned on a thread first."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from entresol.server.handler import completed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from entresol.rpc.jsonrpc.batch import Response
    from entresol.server.handler import ClientConnection

_T = TypeVar("_T")


class ScanOrder:
    """Holds what a client sends after a long request until that was scanned and called.

    Over HTTP nothing is held, since requests of a connection come one by one. Remembers: the last scan of each
    connection that has one. Persists: nothing. Fails: as a scan does, towards its own request alone.
    """

    def __init__(self) -> None:
        self._scans: dict[ClientConnection, asyncio.Future[Any]] = {}

    def is_behind(self, connection: ClientConnection) -> bool:
        """Return whether a request of this client has to be held."""
        return bool(self._scans) and connection in self._scans

    def call(
        self, connection: ClientConnection, scan: Awaitable[_T], call: Callable[[_T], Response]
    ) -> Awaitable[bytes | None]:
        """Call what was scanned, after all before it; return the response."""
        before = self._scans.get(connection)
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # What the client sends next finds it.
        self._scans[connection] = called
        task = asyncio.ensure_future(_call(before, scan, call))
        task.add_done_callback(partial(self._on_called, connection, called))
        return _completed(task)

    def _on_called(
        self,
        connection: ClientConnection,
        called: asyncio.Future[None],
        _task: asyncio.Task[Response],
    ) -> None:
        called.set_result(None)
        if self._scans.get(connection) is called:
            del self._scans[connection]


async def _call(
    before: asyncio.Future[Any] | None, scan: Awaitable[_T], call: Callable[[_T], Response]
) -> Response:
    scanned = await scan
    if before is not None:
        await before
    return call(scanned)


async def _completed(task: asyncio.Task[Response]) -> bytes | None:
    return await completed(await task)
