"""Log requests, by a handler that wraps the handler of a server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Raw

from entresol.explorer.files import FOLDER
from entresol.rpc.jsonrpc.envelope import ERROR, RESULT
from entresol.rpc.jsonrpc.errors import ErrorObject
from entresol.terminal.formats import BatchServed, RequestServed
from entresol.terminal.transactions import OpenSends

if TYPE_CHECKING:
    from entresol.server.handler import ClientConnection, Handler
    from entresol.terminal.failed_calls import FailedCalls
    from entresol.terminal.formats import LogFormat

UNREADABLE: Final = "(unreadable)"


class _Call(msgspec.Struct):
    """The part of a request that is logged."""

    method: str = UNREADABLE


class _Response(msgspec.Struct):
    """The part of a response that is logged."""

    error: ErrorObject | None = None


_call: Final = msgspec.json.Decoder(_Call).decode
_calls: Final = msgspec.json.Decoder(list[_Call]).decode
_items: Final = msgspec.json.Decoder(list[Raw]).decode
_response: Final = msgspec.json.Decoder(_Response).decode
_responses: Final = msgspec.json.Decoder(list[_Response]).decode


class RequestLog:
    """Passes requests to the handler, and logs method, time and result.

    It reads the bytes of requests and responses, so that the handler needs to know nothing of logging. What the explorer
    asks for by itself, below its own path, is left out.
    """

    def __init__(
        self,
        handler: Handler,
        log_format: LogFormat,
        write: Callable[[str], None],
        layer: str = "",
        sends: OpenSends | None = None,
        failed_calls: FailedCalls | None = None,
    ) -> None:
        self._handler = handler
        self._format = log_format
        self._write = write
        self._layer = layer
        self._sends = sends or OpenSends()
        self._failed_calls = failed_calls

    def __call__(
        self, body: bytes, connection: ClientConnection
    ) -> bytes | Awaitable[bytes | None] | None:
        """Handle `body` as the handler does."""
        started = perf_counter()
        response = self._handler(body, connection)
        if response is None or isinstance(response, bytes):
            self._log(body, response, perf_counter() - started, connection)
            return response
        return self._await_and_log(body, response, started, connection)

    async def _await_and_log(
        self,
        body: bytes,
        awaitable: Awaitable[bytes | None],
        started: float,
        connection: ClientConnection,
    ) -> bytes | None:
        with self._sends.holding(body):
            response = await awaitable
            self._log(body, response, perf_counter() - started, connection)
        return response

    def _log(
        self, body: bytes, response: bytes | None, seconds: float, connection: ClientConnection
    ) -> None:
        if connection.path.startswith(FOLDER):
            return
        if body[:1] != b"{" and body.lstrip(b" \t\r\n")[:1] == b"[":
            batch = batch_served(body, response, seconds, self._layer)
            self._write(self._format.batch(batch))
            if batch.failed and response is not None and self._failed_calls is not None:
                self._failed_calls.explain_batch(body, response, connection)
            return
        entry = RequestServed(_method_of(body), seconds, error_in(response), self._layer)
        self._write(self._format.request(entry))
        if entry.error is not None and self._failed_calls is not None:
            self._failed_calls.explain(body, connection)


def error_in(response: bytes | None) -> ErrorObject | None:
    """Return the error of the response to one call; None for a result."""
    # The id precedes the result, and cannot contain these bytes: its quotes would be escaped.
    if response is None or RESULT in response:
        return None
    return _response(response).error


def batch_served(
    body: bytes, response: bytes | None, seconds: float, layer: str = ""
) -> BatchServed:
    """Return the log entry of a batch."""
    methods = Counter(_methods_of(body))
    failed, error = 0, None
    if response is not None and ERROR in response:
        if response[:1] != b"[":
            failed, error = methods.total(), error_in(response)
        else:
            errors = [it.error for it in _responses(response) if it.error is not None]
            failed, error = len(errors), errors[0] if errors else None
    return BatchServed(methods, seconds, failed, error, layer)


def _methods_of(body: bytes) -> list[str]:
    try:
        return [call.method for call in _calls(body)]
    except (ValueError, RecursionError):
        pass
    try:
        return [_method_of(item) for item in _items(body)]
    except (ValueError, RecursionError):
        return []


def _method_of(body: bytes | Raw) -> str:
    try:
        return _call(body).method
    except (ValueError, RecursionError):
        return UNREADABLE
