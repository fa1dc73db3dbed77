"""From the bytes of a request to the bytes of its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from functools import partial
from time import perf_counter
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec import Raw

from entresol._native import ResponseCache
from entresol.rpc.jsonrpc.batch import Answer, RequestBatch
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.envelope import (
    NOT_AN_ID,
    NULL,
    RESULT,
    Request,
    RequestBatchReader,
    decode_request,
    is_id,
    is_utf8,
    join,
    rejection,
    remaining_id,
)
from entresol.rpc.jsonrpc.errors import (
    BatchResponseSizeError,
    BatchSizeError,
    InvalidRequestError,
    MethodNotFoundError,
    ParseError,
    RequestError,
    ResponseSizeError,
    failure_of,
)
from entresol.rpc.jsonrpc.method import Method, Namespace, methods_of
from entresol.rpc.jsonrpc.metrics import Metrics
from entresol.rpc.jsonrpc.offload import Offload
from entresol.rpc.jsonrpc.openrpc import Discovery, Json
from entresol.rpc.jsonrpc.params import MAX_CACHED_PARAMS_BYTES, LongParams
from entresol.server.handler import ClientConnection

REJECTED: Final = "(refused)"
"""The metric label of requests that reach no method; dashboards select on it, so it stays as it is."""

KEPT_BYTES: Final = 16 << 20
LONGEST_RESULT: Final = 64 << 10
"""How much is kept of results that do not change, and how long one may be."""


class RequestLimits(msgspec.Struct, frozen=True):
    """How much one request may ask for."""

    batch: int = 500
    response_bytes: int = 24 << 20


class Dispatcher:
    """Calls the methods of the namespaces it is given.

    Remembers: counts of calls, and results of methods that say so until it is told to forget them.
    Persists:  nothing.
    Assumes:   that it is called on the event loop, and that methods which are not offloaded are quick.
    Fails:     never: whatever a method raises becomes the answer of its call.
    """

    def __init__(
        self,
        namespaces: Iterable[Namespace],
        *,
        executor: Executor | None = None,
        limits: RequestLimits = RequestLimits(),  # noqa: B008  # frozen
        metrics: Metrics | None = None,
    ) -> None:
        self._discovery = Discovery()
        self._methods = methods_of([*namespaces, self._discovery])
        self._discovery.methods = self.methods
        self._executor = executor
        self._limits = limits
        self.metrics = metrics or Metrics()
        for name, method in self._methods.items():
            method.tally = self.metrics.tally(name)
        self._batches = RequestBatchReader(limits.batch)
        self._kept = ResponseCache(capacity=KEPT_BYTES, batch=limits.batch)

    @property
    def methods(self) -> Mapping[str, Method]:
        """Return all methods by name."""
        return MappingProxyType(self._methods)

    def openrpc(self) -> Json:
        """Return the document that describes all methods."""
        return self._discovery.document

    def invalidate_cache(self) -> None:
        """Answer everything anew, because something else is true now."""
        self._kept.forget()

    def render_metrics(self) -> str:
        """Return the counts of all methods in the text format of Prometheus."""
        for name, count in self._kept.given().items():
            self.metrics.tally(name).given_again = count
        return self.metrics.render()

    def handle(self, body: bytes, connection: ClientConnection) -> Answer:
        """Answer a request or a batch: at once if that is possible, else through an awaitable.

        None is the answer to notifications, which are carried out like other calls.
        """
        kept = self._kept.answer(body) if connection.path == "/" else None
        if kept is not None and len(kept) <= self._limits.response_bytes:
            return kept
        if not body.isascii() and not is_utf8(body):
            return self._reject(ParseError("not UTF-8"))
        if body[:1] == b"[":
            return self._handle_batch(body, connection)
        try:
            request = decode_request(body)
        except (ValueError, RecursionError):
            return self._handle_odd(body, connection)
        return self._call(connection, request)

    def _handle_odd(self, body: bytes, connection: ClientConnection) -> Answer:
        """Answer what is no single request: a batch behind spaces, or a mistake."""
        stripped = body.lstrip(b" \t\r\n")
        if stripped[:1] == b"[":
            return self._handle_batch(stripped, connection)
        try:
            identity = remaining_id(stripped)
        except ParseError as error:
            return self._reject(error)
        if identity is None:
            return self._reject(ParseError("a request is an object with jsonrpc, method and id"))
        return self._reject(_not_a_request(stripped), identity)

    def _handle_batch(self, body: bytes, connection: ClientConnection) -> Answer:
        try:
            items = self._batches.read(body)
        except ParseError as error:
            return self._reject(error)
        if items is None:
            return self._reject(BatchSizeError(self._limits.batch))
        if not items:
            return self._reject(InvalidRequestError("a batch has at least one call"))
        batch = RequestBatch(
            items, partial(self._answer_item, connection), self._limits.response_bytes
        )
        return self._joined(batch) if batch.advance() else self._finish(batch)

    async def _finish(self, batch: RequestBatch[Request | Raw]) -> bytes | None:
        await batch.finish()
        return self._joined(batch)

    def _joined(self, batch: RequestBatch[Request | Raw]) -> bytes | None:
        if batch.too_large:
            return self._reject(BatchResponseSizeError(self._limits.response_bytes))
        return batch.joined()

    def _answer_item(self, connection: ClientConnection, item: Request | Raw) -> Answer:
        if isinstance(item, Request):
            return self._call(connection, item)
        try:
            identity = remaining_id(item)
        except ParseError as error:
            return self._reject(error)
        return self._reject(_not_a_request(item), identity or NULL)

    def _call(self, connection: ClientConnection, request: Request) -> Answer:
        identity = bytes(request.id)
        method = self._methods.get(request.method)
        if method is None or connection.path != "/" or identity[:1] in NOT_AN_ID:
            try:
                method = self._checked(request, identity, connection.path)
            except RequestError as error:
                return self._reject(error, identity if is_id(identity) else NULL)
        started = perf_counter()
        code = 0
        try:
            arguments = method.cached_arguments(bytes(request.params))
            if arguments is None:
                arguments = method.arguments(request.params, connection)
            result = method.function(*arguments)
            if type(result) is Offload or method.is_async:
                return self._answer_later(method, identity, result, started)
            answer = self._answer(identity, result)
            if method.is_cached and method.gives_the_same(arguments):
                self._keep(method, bytes(request.params), result)
        except LongParams as params:
            result = self._read_aside(method, params, connection)
            return self._answer_later(method, identity, result, started)
        except Exception as error:  # noqa: BLE001  # logged as it is turned into an answer
            answer, code = _failure(error, method, identity)
        method.tally.observe(perf_counter() - started, code)
        return answer if identity else None

    async def _read_aside(
        self, method: Method, params: LongParams, connection: ClientConnection
    ) -> object:
        """Read long parameters on a worker thread, and go on as with others."""
        loop = asyncio.get_running_loop()
        values = await loop.run_in_executor(self._executor, params.read)
        return method.function(*method.placed(values, connection))

    def _keep(self, method: Method, params: bytes, result: object) -> None:
        """Keep a result for the next who asks the same; what is null may be something by then."""
        if result is not None and len(params) <= MAX_CACHED_PARAMS_BYTES:
            payload = bytes(result) if type(result) is Raw else encode(result)
            if len(payload) <= LONGEST_RESULT:
                self._kept.keep(method.name, params, payload)

    async def _answer_later(
        self, method: Method, identity: bytes, result: Any, started: float
    ) -> bytes | None:
        code = 0
        try:
            if type(result) is not Offload:
                result = await result
            if type(result) is Offload:
                answer = await self._answer_elsewhere(identity, result.work)
            else:
                answer = self._answer(identity, result)
        except Exception as error:  # noqa: BLE001  # logged as it is turned into an answer
            answer, code = _failure(error, method, identity)
        method.tally.observe(perf_counter() - started, code)
        return answer if identity else None

    async def _answer_elsewhere(self, identity: bytes, work: Callable[[], object]) -> bytes:
        """Do the work, and the encoding of what may be a long result, on a worker thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, lambda: self._answer(identity, work()))

    def _answer(self, identity: bytes, result: object) -> bytes:
        answer = join(identity, RESULT, result if type(result) is Raw else encode(result))
        if len(answer) > self._limits.response_bytes:
            raise ResponseSizeError(self._limits.response_bytes)
        return answer

    def _checked(self, request: Request, identity: bytes, path: str) -> Method:
        """Return the method that is asked for, unless something about the request is wrong."""
        if not is_id(identity):
            raise InvalidRequestError("an id is a number, a string or null")
        named = path.partition("?")[0].strip("/")
        if named in self._methods and named != request.method:
            raise InvalidRequestError(f"the path says {named}, the body {request.method[:70]}")
        method = self._methods.get(request.method)
        if method is None:
            raise MethodNotFoundError(request.method)
        return method

    def _reject(self, error: RequestError, identity: bytes = NULL) -> bytes | None:
        """Return the answer to what reaches no method; a notification gets none."""
        failure = failure_of(error, REJECTED)
        self.metrics.tally(REJECTED).observe(0.0, failure.code)
        return rejection(failure, identity) if identity else None


def _failure(error: Exception, method: Method, identity: bytes) -> tuple[bytes, int]:
    """Return the answer that says what went wrong, and its code."""
    failure = failure_of(error, method.name)
    return rejection(failure, identity), failure.code


def _not_a_request(body: bytes | Raw) -> InvalidRequestError:
    """Say what keeps `body` from being a request."""
    try:
        decode_request(body)
    except (ValueError, RecursionError) as error:
        return InvalidRequestError(str(error).replace(" - at `$.", " - at `"))
    # What is nested deep may fail first and pass later: it depends on the depth of the stack.
    return InvalidRequestError("nested too deep")
