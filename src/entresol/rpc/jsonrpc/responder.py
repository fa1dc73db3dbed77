"""Respond to calls: encode results, map exceptions to errors, and count both."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Raw

from entresol._native import TraceWriter
from entresol.errors.base import without_frames
from entresol.offload import Deferred, Offload
from entresol.rpc.jsonrpc.batch import DeferredResponse, StartableResponse
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.envelope import (
    CLOSING,
    NULL,
    RESULT,
    error_response,
    opening,
    response,
)
from entresol.rpc.jsonrpc.errors import RequestError, ResponseSizeError, error_object_of

if TYPE_CHECKING:
    from entresol.rpc.jsonrpc.batch import Response
    from entresol.rpc.jsonrpc.method import Method
    from entresol.rpc.jsonrpc.metrics import Metrics
    from entresol.rpc.threads.client_threads import Threads

REJECTED: Final = "(refused)"
"""The metric label of requests that reach no method; dashboards select on it, so it stays as it is."""


class Responder:
    """Encodes results, of at most `max_bytes`, and counts calls."""

    def __init__(self, threads: Threads, max_bytes: int, metrics: Metrics) -> None:
        self._threads = threads
        self._max_bytes = max_bytes
        self._metrics = metrics

    def reject(self, error: RequestError, request_id: bytes = NULL) -> bytes | None:
        """Return the response to a request that reaches no method; a notification gets none."""
        error_object = error_object_of(error, REJECTED)
        without_frames(error)
        self._metrics.of_method(REJECTED).observe(0.0, error_object.code)
        return error_response(error_object, request_id) if request_id else None

    def finish(self, method: Method, request_id: bytes, result: object) -> Response:
        """Respond with the result of a function that was called already."""
        started = perf_counter()
        if type(result) is Offload or type(result) is Deferred:
            return self.respond_later(method, request_id, result, started)
        code = 0
        try:
            body = self.respond(request_id, result)
        except Exception as error:  # noqa: BLE001  # logged as it is turned into a response
            body, code = response_to_error(error, method, request_id)
        method.metrics.observe(perf_counter() - started, code)
        return body

    def defer(
        self, method: Method, request_id: bytes, result: Any, started: float
    ) -> Awaitable[bytes | None]:
        """Respond once the result is there; to calls of a group that share a block, without a task for each."""
        if method.is_grouped and type(result) is Deferred and asyncio.isfuture(result.result):
            done = partial(self._respond_done, method, request_id, started)
            return DeferredResponse(result.result, done)
        response = self.respond_later(method, request_id, result, started)
        return StartableResponse(response) if method.is_grouped else response

    async def respond_later(
        self, method: Method, request_id: bytes, result: Any, started: float
    ) -> bytes | None:
        """Await the result, or what a worker makes of it, and respond."""
        code = 0
        try:
            if type(result) is not Offload:
                result = await (result.result if type(result) is Deferred else result)
            if type(result) is Offload:
                body = await self._respond_on_worker(request_id, result.work)
            else:
                body = self.respond(request_id, result)
        except Exception as error:  # noqa: BLE001  # logged as it is turned into a response
            body, code = response_to_error(error, method, request_id)
        method.metrics.observe(perf_counter() - started, code)
        return body if request_id else None

    def _respond_done(
        self, method: Method, request_id: bytes, started: float, result: asyncio.Future[Any]
    ) -> bytes | None:
        """Respond with the result of a future that is done."""
        code = 0
        try:
            body = self.respond(request_id, result.result())
        except Exception as error:  # noqa: BLE001  # logged as it is turned into a response
            body, code = response_to_error(error, method, request_id)
        method.metrics.observe(perf_counter() - started, code)
        return body if request_id else None

    async def _respond_on_worker(self, request_id: bytes, work: Callable[[], object]) -> bytes:
        """Do the work, and encode what may be a long result, on a worker thread."""
        return await self._threads.run(
            lambda: self.respond(request_id, work()), ends_with_client=True
        )

    def respond(self, request_id: bytes, result: object) -> bytes:
        """Return the response with this result; raise `ResponseSizeError` if it is too long."""
        if type(result) is TraceWriter:
            # Traces have a limit of their own, and are copied without the GIL.
            return result.joined(opening(request_id, RESULT), CLOSING)
        body = response(request_id, RESULT, result if type(result) is Raw else encode(result))
        if len(body) > self._max_bytes:
            raise ResponseSizeError(self._max_bytes)
        return body


def response_to_error(error: Exception, method: Method, request_id: bytes) -> tuple[bytes, int]:
    """Return the error response for an exception, and its code. The exception ends here: its frames are dropped."""
    error_object = error_object_of(error, method.name)
    without_frames(error)
    return error_response(error_object, request_id), error_object.code
