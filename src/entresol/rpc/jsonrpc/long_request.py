"""Long requests: read on a thread without the GIL, and called in their place among others of their client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar, cast

from msgspec import Raw

from entresol._native import read_long_requests
from entresol.rpc.jsonrpc.envelope import ABSENT, Request
from entresol.rpc.jsonrpc.errors import InvalidParamsError
from entresol.rpc.jsonrpc.request_batch import Response
from entresol.rpc.jsonrpc.served_method import Method
from entresol.server.handler import ClientConnection, completed

_T = TypeVar("_T")


class LongRequest(Request):
    """A call of a long body, with what of its parameters was decoded when it was read."""

    data: bytes | None = None
    """The only parameter, if that is hex digits; not as `Data`, since that would copy it, and so would `bytes` of that."""
    values: tuple[Any, ...] | None = None
    """The parameters of a method whose calls run in order, so that they are not decoded later."""
    problem: InvalidParamsError | None = None
    """The problem with them."""

    def read_ahead(self, methods: Mapping[str, Method]) -> None:
        """Decode the parameters on any thread, if calls of the method run in order."""
        method = methods.get(self.method)
        if method is None or (self.data is not None and method.takes_data):
            return
        try:
            self.values = method.reader.read_ahead(self.params)
        except InvalidParamsError as error:
            self.problem = error

    def arguments(self, method: Method, connection: ClientConnection) -> tuple[Any, ...] | None:
        """Return the arguments that were read with the request; None if they have to be decoded."""
        if self.problem is not None:
            raise self.problem
        if self.values is not None:
            return method.with_connection(self.values, connection)
        if self.data is None or not method.takes_data:
            return None
        return self.data, *method.reader.defaults[1:]


def read_long(body: bytes) -> LongRequest | list[Request | Raw] | None:
    """Read a long request or a batch on any thread: most of it without the GIL. None for what has to be read by others."""
    found = read_long_requests(body)
    if found is None:
        return None
    is_batch, parts = found
    view = memoryview(body)
    requests: list[Request | Raw] = [
        LongRequest(
            "2.0",
            method,
            Raw(view[slice(*request_id)]),
            Raw(view[slice(*params)]) if params[1] else ABSENT,
            data,
        )
        for method, request_id, params, data in parts
    ]
    return requests if is_batch else cast("LongRequest", requests[0])


class ScanOrder:
    """Holds what a client sends after a long request until that was scanned and called.

    Over HTTP nothing is held, since requests of a connection come one by one. Remembers: the last scan of each
    connection that has one. Fails: as a scan does, towards its own request alone.
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
