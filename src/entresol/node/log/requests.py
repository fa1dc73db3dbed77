"""Telling of requests: a handler around the handler, which is there only if somebody wants to know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Raw

from entresol.node.log.entries import BatchServed, RequestServed
from entresol.rpc.jsonrpc.envelope import ERROR, RESULT
from entresol.rpc.jsonrpc.errors import ErrorObject

if TYPE_CHECKING:
    from entresol.node.log.entries import LogFormat
    from entresol.server.handler import ClientConnection, Handler

UNREADABLE: Final = "(unreadable)"


class _Call(msgspec.Struct):
    """As much of a request as is told."""

    method: str = UNREADABLE


class _Outcome(msgspec.Struct):
    """As much of an answer as is told."""

    error: ErrorObject | None = None


_call: Final = msgspec.json.Decoder(_Call).decode
_calls: Final = msgspec.json.Decoder(list[_Call]).decode
_items: Final = msgspec.json.Decoder(list[Raw]).decode
_outcome: Final = msgspec.json.Decoder(_Outcome).decode
_results: Final = msgspec.json.Decoder(list[_Outcome]).decode


class RequestLog:
    """Passes requests on, and tells how they were answered.

    It looks at the bytes that come and go, so that the handler has nothing to do with it.
    """

    def __init__(
        self, handler: Handler, lines: LogFormat, tell: Callable[[str], None], layer: str = ""
    ) -> None:
        self._handler = handler
        self._lines = lines
        self._tell = tell
        self._layer = layer

    def __call__(
        self, body: bytes, connection: ClientConnection
    ) -> bytes | Awaitable[bytes | None] | None:
        """Answer `body` as the handler does."""
        started = perf_counter()
        answer = self._handler(body, connection)
        if answer is None or isinstance(answer, bytes):
            self._report(body, answer, perf_counter() - started)
            return answer
        return self._later(body, answer, started)

    async def _later(
        self, body: bytes, awaitable: Awaitable[bytes | None], started: float
    ) -> bytes | None:
        answer = await awaitable
        self._report(body, answer, perf_counter() - started)
        return answer

    def _report(self, body: bytes, answer: bytes | None, seconds: float) -> None:
        if body[:1] == b"[" or body.lstrip(b" \t\r\n")[:1] == b"[":
            self._tell(self._lines.batch(batch_of(body, answer, seconds, self._layer)))
            return
        entry = RequestServed(_method_of(body), seconds, failure_in(answer), self._layer)
        self._tell(self._lines.answered(entry))


def failure_in(answer: bytes | None) -> ErrorObject | None:
    """Return the error that an answer to one call consists of."""
    # The id stands before the result, and no id has these bytes in it: its quotes would be escaped.
    if answer is None or RESULT in answer:
        return None
    return _outcome(answer).error


def batch_of(body: bytes, answer: bytes | None, seconds: float, layer: str = "") -> BatchServed:
    """Return what is told of a batch."""
    methods = Counter(_methods_of(body))
    failed, failure = 0, None
    if answer is not None and ERROR in answer:
        if answer[:1] != b"[":
            failed, failure = methods.total(), failure_in(answer)
        else:
            failures = [it.error for it in _results(answer) if it.error is not None]
            failed, failure = len(failures), failures[0] if failures else None
    return BatchServed(methods, seconds, failed, failure, layer)


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
