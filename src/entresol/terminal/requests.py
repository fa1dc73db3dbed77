"""Log requests, and the calls among them that fail."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol.rpc.jsonrpc.envelope import ERROR, RESULT
from entresol.rpc.jsonrpc.errors import ErrorObject
from entresol.server.handler import completed
from entresol.terminal.formats import (
    STACK_TRACE,
    BatchServed,
    ConsoleLogged,
    LogFormat,
    RequestServed,
)
from entresol.terminal.transactions import OpenSends

if TYPE_CHECKING:
    from entresol.server.handler import ClientConnection, Handler
    from entresol.terminal.explainer import Explainer

UNREADABLE: Final = "(unreadable)"

log = logging.getLogger(__name__)

EXPLAINED: Final = {"eth_call": 2, "eth_estimateGas": 2, "eth_sendTransaction": 1}
"""Methods whose failures are explained, and how many of their parameters say what was executed."""

MAX_EXPLAINED: Final = 4
"""Calls that are explained at a time; more that fail meanwhile have no stack trace."""

BATCH: Final = "batch"
"""Takes the place of the method in what is logged of several."""

MAX_OF_BATCH: Final = 4
"""Calls of a batch that are explained, one after the other; the others are counted."""

MAX_BODY: Final = 256 << 10
"""Bytes of a request that is read again for its call, alone or in a batch."""

MAX_BATCH_BODY: Final = 1 << 20
"""Bytes of a batch that is read again."""


class _Call(msgspec.Struct):
    """The part of a request that is logged."""

    method: str = UNREADABLE


class _Response(msgspec.Struct):
    """The part of a response that is logged."""

    error: ErrorObject | None = None


_call: Final = msgspec.json.Decoder(_Call).decode
_calls: Final = msgspec.json.Decoder(list[_Call]).decode
_items: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode
_response: Final = msgspec.json.Decoder(_Response).decode
_responses: Final = msgspec.json.Decoder(list[_Response]).decode


class RequestLog:
    """Passes requests to the handler, and logs method, time and result.

    It reads the bytes of requests and responses, so that the handler needs to know nothing of logging.
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
            errors = [each.error for each in _responses(response) if each.error is not None]
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


def _method_of(body: bytes | msgspec.Raw) -> str:
    try:
        return _call(body).method
    except (ValueError, RecursionError):
        return UNREADABLE


class _Request(msgspec.Struct):
    method: str = ""
    params: list[msgspec.Raw] | dict[str, msgspec.Raw] = []


class _Identified(msgspec.Struct):
    id: str | int | float | msgspec.UnsetType | None = msgspec.UNSET
    """Unset in a notification, which has no response."""


class _Outcome(msgspec.Struct):
    id: str | int | float | None = None
    error: dict[str, msgspec.Raw] | None = None


class _Result(msgspec.Struct):
    result: msgspec.Raw = msgspec.Raw(b"null")


_request: Final = msgspec.json.Decoder(_Request).decode
_identified: Final = msgspec.json.Decoder(_Identified).decode
_outcomes: Final = msgspec.json.Decoder(list[_Outcome]).decode
_result: Final = msgspec.json.Decoder(_Result).decode


class FailedCalls:
    """Follows failed requests, and logs their stack traces once they are known.

    Remembers: the requests that are being explained. Assumes: one event loop. Fails: never; a failure that is not in
    the source, or cannot be repeated, is not explained.
    """

    def __init__(
        self,
        handler: Handler,
        explainer: Explainer,
        log_format: LogFormat,
        write: Callable[[str], None],
        layer: str,
    ) -> None:
        """Give the explainer what it asks `handler` for."""
        self._handler = handler
        self._explainer = explainer
        self._format = log_format
        self._write = write
        self._layer = layer
        self._tasks: set[asyncio.Task[None]] = set()

    def explain(self, body: bytes, connection: ClientConnection) -> None:
        """Log the stack trace of a request that has failed, if it executes something."""
        if self._can_explain and (request := _executed(body)) is not None:
            self._start([request], connection)

    def explain_batch(self, body: bytes, response: bytes, connection: ClientConnection) -> None:
        """Log the stack traces of the first requests of a batch that have failed, and how many others have."""
        if self._can_explain and len(body) <= MAX_BATCH_BODY:
            self._start(list(_failed_requests(body, response)), connection)

    @property
    def _can_explain(self) -> bool:
        return not self._explainer.is_empty and len(self._tasks) < MAX_EXPLAINED

    def _start(self, requests: Sequence[_Request], connection: ClientConnection) -> None:
        if requests:
            task = asyncio.get_running_loop().create_task(self._explain_all(requests, connection))
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.debug("a failed request is not explained: %r", error)

    async def _explain_all(
        self, requests: Sequence[_Request], connection: ClientConnection
    ) -> None:
        for request in requests[:MAX_OF_BATCH]:
            await self._explain(request, connection)
        if (others := len(requests) - MAX_OF_BATCH) > 0:
            calls = "1 more call" if others == 1 else f"{others:,} more calls"
            self._log(BATCH, [f"{calls} of the batch failed"])

    async def _explain(self, request: _Request, connection: ClientConnection) -> None:
        assert isinstance(request.params, list)
        params = request.params[: EXPLAINED[request.method]]
        lines = await self._explainer.failed_call(params, partial(self._ask, connection))
        if lines:
            self._log(request.method, lines)

    async def _ask(
        self, connection: ClientConnection, method: str, params: Sequence[msgspec.Raw]
    ) -> msgspec.Raw:
        """Return the result of a request for a client; null if it fails."""
        call: dict[str, Any] = {"jsonrpc": "2.0", "id": 0, "method": method, "params": params}
        response = await completed(self._handler(msgspec.json.encode(call), connection))
        assert response is not None  # It has an id.
        return _result(response).result

    def _log(self, method: str, lines: Sequence[str]) -> None:
        entry = ConsoleLogged(method, lines, self._layer, STACK_TRACE)
        self._write(self._format.console(entry))


def _executed(body: bytes | msgspec.Raw) -> _Request | None:
    if len(bytes(body)) > MAX_BODY:
        return None
    try:
        request = _request(body)
    except (ValueError, RecursionError):
        return None
    if request.method not in EXPLAINED or not isinstance(request.params, list):
        return None
    return request


def _failed_requests(body: bytes, response: bytes) -> Iterator[_Request]:
    """Yield the requests of a batch that execute something, and whose responses are errors."""
    try:
        outcomes = _outcomes(response)
        items = _items(body)
    except (ValueError, RecursionError):
        return
    # Responses have the order of their requests, also of those that share an id.
    failed: dict[object, list[bool]] = {}
    for outcome in reversed(outcomes):
        failed.setdefault(outcome.id, []).append(outcome.error is not None)
    for item in items:
        try:
            number = _identified(item).id
        except (ValueError, RecursionError):
            continue
        left = failed.get(number)
        if left and left.pop() and (request := _executed(item)) is not None:
            yield request
