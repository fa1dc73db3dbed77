"""Call a method: look it up, decode its parameters, run it, and respond."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from functools import partial
from time import perf_counter
from typing import Any, Final

from msgspec import Raw

from entresol._native import TraceWriter
from entresol.cache_limits import CACHES
from entresol.errors import ChainReplaced, ForeignOrigin, StateMissing
from entresol.errors.base import without_frames
from entresol.offload import BuildFirst, Offload, is_awaitable
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.envelope import (
    CLOSING,
    NOT_AN_ID,
    NULL,
    RESULT,
    Request,
    error_response,
    is_id,
    opening,
    response,
)
from entresol.rpc.jsonrpc.errors import (
    InvalidRequestError,
    MethodNotFoundError,
    RequestError,
    ResponseSizeError,
    error_object_of,
)
from entresol.rpc.jsonrpc.forwarding import Forwarding, Route, is_absent
from entresol.rpc.jsonrpc.long_request import LongRequest
from entresol.rpc.jsonrpc.metrics import Metrics
from entresol.rpc.jsonrpc.request_batch import DeferredResponse, Response, StartableResponse
from entresol.rpc.jsonrpc.served_method import Method
from entresol.rpc.threads.client_threads import RemoteWaits, Threads
from entresol.server.handler import ClientConnection
from entresol.state_missing import again, retried

REJECTED: Final = "(refused)"
"""The metric label of requests that reach no method; dashboards select on it, so it stays as it is."""


class MethodCaller:
    """Calls methods by name, encodes results of at most `max_bytes`, and counts calls.

    With `forwarding`, calls that are the producer's are forwarded. `cache` takes the name of a method, its parameters
    and its result, for later calls.
    """

    def __init__(
        self,
        methods: Mapping[str, Method],
        threads: Threads,
        metrics: Metrics,
        *,
        max_bytes: int,
        cache: Callable[[str, bytes, bytes], None],
        forwarding: Forwarding | None = None,
    ) -> None:
        self._methods = methods
        self._threads = threads
        self._metrics = metrics
        self._max_bytes = max_bytes
        self._cache = cache
        self._forwarding = forwarding
        self._remote_waits = RemoteWaits()

    def call(self, connection: ClientConnection, request: Request) -> Response:
        """Call the requested method, and respond; reject a request that names none."""
        request_id = bytes(request.id)
        method = self._methods.get(request.method)
        if method is None or connection.path != "/" or request_id[:1] in NOT_AN_ID:
            problem = self._problem(request, request_id, connection.path)
            if method is None or problem is not None:
                problem = problem or MethodNotFoundError(request.method)
                return self.reject(problem, request_id if is_id(request_id) else NULL)
        if method.names_url and connection.is_foreign:
            body, _ = _error_response(ForeignOrigin(), method, request_id)
            return body if request_id else None
        if self._forwarding is None:
            return self._run(method, request, request_id, connection)
        route = self._forwarding.route(method, request.params)
        if route is Route.UPSTREAM:
            return self._forwarding.call(request, connection)
        then = self._forwarding if route is Route.HERE_THEN_UPSTREAM else None
        return self._run(method, request, request_id, connection, then)

    def reject(self, error: RequestError, request_id: bytes = NULL) -> bytes | None:
        """Return the response to a request that reaches no method; a notification gets none."""
        error_object = error_object_of(error, REJECTED)
        without_frames(error)
        self._metrics.of_method(REJECTED).observe(0.0, error_object.code)
        return error_response(error_object, request_id) if request_id else None

    def finish(self, name: str, request_id: bytes, result: object) -> Response:
        """Respond with the result of a method whose function the crate has called."""
        method = self._methods[name]
        started = perf_counter()
        if type(result) is Offload or is_awaitable(result):
            return self._respond_later(method, request_id, result, started)
        return self._respond_now(method, request_id, started, lambda: result)

    def _run(
        self,
        method: Method,
        request: Request,
        request_id: bytes,
        connection: ClientConnection,
        then: Forwarding | None = None,
    ) -> Response:
        """Run a method here, and respond; `then` forwards a call whose object is not here."""
        started = perf_counter()
        code = 0
        try:
            # Copying a long text, or looking it up, would take a pass over all of it.
            is_short = memoryview(request.params).nbytes <= CACHES.cached_params
            params = bytes(request.params) if is_short else b""
            arguments = method.cached_arguments(params) if is_short else None
            if arguments is None:
                arguments = _arguments(method, request, connection, is_short=is_short)
                if arguments is None:
                    later = self._call_read(method, request.params, connection)
                    return self._defer(method, request_id, later, started)
            result = method.function(*arguments)
            if then is not None and is_absent(result):
                return then.call(request, connection)
            if type(result) is Offload or (method.may_be_awaited and is_awaitable(result)):
                return self._defer(method, request_id, result, started)
            body = self._respond(request_id, result)
            if is_short and method.is_cached and method.is_repeatable(arguments):
                self._cache_result(method, params, result)
        except (BuildFirst, StateMissing) as needs:
            later = self._call_again(method, needs, request.params, connection)
            return self._defer(method, request_id, later, started)
        except Exception as error:  # noqa: BLE001  # logged as it is turned into a response
            body, code = _error_response(error, method, request_id)
        method.metrics.observe(perf_counter() - started, code)
        return body if request_id else None

    async def _call_read(self, method: Method, params: Raw, connection: ClientConnection) -> object:
        """Call a method on the event loop, after a thread has decoded its parameters; or give it to who decodes them."""
        if method.takes_long is not None:
            return await method.takes_long(params)
        values = await self._threads.run(partial(method.reader.read_long, params))
        arguments = method.with_connection(values, connection)
        result = await retried(partial(method.function, *arguments))
        return await result if is_awaitable(result) else result

    async def _call_again(
        self,
        method: Method,
        needs: BuildFirst | StateMissing,
        params: Raw,
        connection: ClientConnection,
    ) -> object:
        arguments = method.arguments(params, connection)
        call = partial(method.function, *arguments)
        is_remote = isinstance(needs, StateMissing)
        with self._remote_waits.held(connection) if is_remote else nullcontext():
            result = await again(call, needs)
        return await result if is_awaitable(result) else result

    def _cache_result(self, method: Method, params: bytes, result: object) -> None:
        """Cache a result for calls with the same parameters; null may become something later."""
        if result is not None:
            value = bytes(result) if type(result) is Raw else encode(result)
            if len(value) <= CACHES.cached_result:
                self._cache(method.name, params, value)

    def _problem(self, request: Request, request_id: bytes, path: str) -> RequestError | None:
        """Return what is wrong with a request, but for the name of its method."""
        if not is_id(request_id):
            return InvalidRequestError("an id is a number, a string or null")
        named = path.partition("?")[0].strip("/")
        if named in self._methods and named != request.method:
            return InvalidRequestError(f"the path says {named}, the body {request.method[:70]}")
        return None

    def _defer(
        self, method: Method, request_id: bytes, result: Any, started: float
    ) -> Awaitable[bytes | None]:
        """Respond once the result is there; to calls of a group that share a block, without a task for each."""
        if method.is_grouped and asyncio.isfuture(result):
            respond = partial(self._respond_now, method, request_id, started, result.result)
            return DeferredResponse(result, respond)
        response = self._respond_later(method, request_id, result, started)
        return StartableResponse(response) if method.is_grouped else response

    async def _respond_later(
        self, method: Method, request_id: bytes, result: Any, started: float
    ) -> bytes | None:
        """Await the result, or what a thread makes of it, and respond."""
        code = 0
        try:
            if type(result) is not Offload:
                result = await result
            if type(result) is Offload:
                # What may be a long result is encoded there, too.
                work = result.work
                body = await self._threads.run(
                    lambda: self._respond(request_id, work()), ends_with_client=True
                )
            else:
                body = self._respond(request_id, result)
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            # Not who responds was cancelled, but what it waits for: work on a chain that is closed.
            body, code = _error_response(ChainReplaced(), method, request_id)
        except Exception as error:  # noqa: BLE001  # logged as it is turned into a response
            body, code = _error_response(error, method, request_id)
        method.metrics.observe(perf_counter() - started, code)
        return body if request_id else None

    def _respond_now(
        self, method: Method, request_id: bytes, started: float, result: Callable[[], object]
    ) -> bytes | None:
        code = 0
        try:
            body = self._respond(request_id, result())
        except asyncio.CancelledError:
            body, code = _error_response(ChainReplaced(), method, request_id)
        except Exception as error:  # noqa: BLE001  # logged as it is turned into a response
            body, code = _error_response(error, method, request_id)
        method.metrics.observe(perf_counter() - started, code)
        return body if request_id else None

    def _respond(self, request_id: bytes, result: object) -> bytes:
        if type(result) is TraceWriter:
            # Traces have a limit of their own, and are copied without the GIL.
            return result.joined(opening(request_id, RESULT), CLOSING)
        body = response(request_id, RESULT, result if type(result) is Raw else encode(result))
        if len(body) > self._max_bytes:
            raise ResponseSizeError(self._max_bytes)
        return body


def _is_being_cancelled() -> bool:
    """Return whether the task that runs is to end, and not only something that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _error_response(error: Exception, method: Method, request_id: bytes) -> tuple[bytes, int]:
    """Return the error response for an exception, and its code. The exception ends here: its frames are dropped."""
    error_object = error_object_of(error, method.name)
    without_frames(error)
    return error_response(error_object, request_id), error_object.code


def _arguments(
    method: Method, request: Request, connection: ClientConnection, *, is_short: bool
) -> tuple[Any, ...] | None:
    """Return the arguments of a call; None if a thread has to decode them."""
    if not is_short:
        before = None
        if type(request) is LongRequest:
            before = request.arguments(method, connection)
        if before is not None or method.reader.reads_on_thread(request.params):
            return before
    return method.arguments(request.params, connection)
