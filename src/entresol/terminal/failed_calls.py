"""Log where in the source calls and estimates failed, by asking the node that has rejected them."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol.terminal.formats import STACK_TRACE, ConsoleLogged

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.server.handler import ClientConnection, Handler
    from entresol.sources.registry import SourceRegistry
    from entresol.terminal.formats import LogFormat

log = logging.getLogger(__name__)

EXPLAINED: Final = {"eth_call": 2, "eth_estimateGas": 2, "eth_sendTransaction": 1}
"""Methods whose failures have a stack trace, and how many of their parameters say what was executed."""

MAX_EXPLAINED: Final = 4
"""Calls that are explained at a time; more that fail meanwhile have no stack trace."""

MAX_BODY: Final = 256 << 10
"""Bytes of a request that is read again for its call."""


class _Request(msgspec.Struct):
    method: str = ""
    params: list[msgspec.Raw] | dict[str, msgspec.Raw] = []


class _Trace(msgspec.Struct):
    text: list[str]


class _Response(msgspec.Struct):
    result: _Trace | None = None


_request: Final = msgspec.json.Decoder(_Request).decode
_response: Final = msgspec.json.Decoder(_Response).decode


class FailedCalls:
    """Follows failed requests, and logs their stack traces once they are known.

    Remembers: the requests that are being explained. Persists: nothing. Assumes: one event loop. Fails: never; a failure
    that is not in the source, or cannot be repeated, is not explained.
    """

    def __init__(
        self,
        handler: Handler,
        sources: SourceRegistry,
        log_format: LogFormat,
        write: Callable[[str], None],
        layer: str,
    ) -> None:
        """Ask `handler` for stack traces, unless there are no sources."""
        self._handler = handler
        self._sources = sources
        self._format = log_format
        self._write = write
        self._layer = layer
        self._tasks: set[asyncio.Task[None]] = set()

    def explain(self, body: bytes, connection: ClientConnection) -> None:
        """Log the stack trace of a request that has failed, if it executes something."""
        if self._sources.is_empty or len(body) > MAX_BODY or len(self._tasks) >= MAX_EXPLAINED:
            return
        try:
            request = _request(body)
        except (ValueError, RecursionError):
            return
        if request.method not in EXPLAINED or not isinstance(request.params, list):
            return
        task = asyncio.get_running_loop().create_task(self._explain(request, connection))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.debug("a failed request is not explained: %r", error)

    async def _explain(self, request: _Request, connection: ClientConnection) -> None:
        assert isinstance(request.params, list)
        call: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "entresol_getCallStackTrace",
            "params": request.params[: EXPLAINED[request.method]],
        }
        response = self._handler(msgspec.json.encode(call), connection)
        if response is not None and not isinstance(response, bytes):
            response = await response
        if response is None:
            return
        try:
            trace = _response(response).result
        except msgspec.MsgspecError:
            return
        if trace is not None:
            entry = ConsoleLogged(request.method, trace.text, self._layer, STACK_TRACE)
            self._write(self._format.console(entry))
