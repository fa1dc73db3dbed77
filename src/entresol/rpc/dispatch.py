"""From the bytes of a request to the bytes of its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Executor
from functools import partial
from time import perf_counter
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec import Raw

from entresol.rpc.batch import Answer, Batch
from entresol.rpc.connection import Connection
from entresol.rpc.envelope import (
    ABSENT,
    ERROR,
    NULL,
    RESULT,
    BatchReader,
    Request,
    decode_request,
    is_id,
    is_utf8,
    join,
    refusal,
    remaining_id,
)
from entresol.rpc.errors import (
    AnswerSizeError,
    BatchAnswerSizeError,
    BatchSizeError,
    InvalidRequestError,
    MethodNotFoundError,
    ParseError,
    RequestError,
    failure_of,
)
from entresol.rpc.method import Later, Method, Namespace, methods_of
from entresol.rpc.metrics import Metrics
from entresol.rpc.openrpc import Discovery, Json
from entresol.rpc.params import LongParams
from entresol.rpc.wire import encode

Outcome = tuple[bytes, bytes | Raw, int]
"""Which member an answer has, its value, and the error code or 0."""

REFUSED: Final = "(refused)"
"""The name under which requests are counted that reach no method."""


class Limits(msgspec.Struct, frozen=True):
    """How much one request may ask for."""

    batch: int = 500
    answer_bytes: int = 24 << 20


class Dispatcher:
    """Calls the methods of the namespaces it is given.

    Remembers: counts of calls.
    Persists:  nothing.
    Assumes:   that it is called on the event loop, and that methods which are not offloaded are quick.
    Fails:     never: whatever a method raises becomes the answer of its call.
    """

    def __init__(
        self,
        namespaces: Iterable[Namespace],
        *,
        executor: Executor | None = None,
        limits: Limits = Limits(),  # noqa: B008  # frozen
        metrics: Metrics | None = None,
    ) -> None:
        self._discovery = Discovery()
        self._methods = methods_of([*namespaces, self._discovery])
        self._discovery.methods = self.methods
        self._executor = executor
        self._limits = limits
        self.metrics = metrics or Metrics()
        self._tallies = {name: self.metrics.tally(name) for name in self._methods}
        self._batches = BatchReader(limits.batch)

    @property
    def methods(self) -> Mapping[str, Method]:
        """Return all methods by name."""
        return MappingProxyType(self._methods)

    def openrpc(self) -> Json:
        """Return the document that describes all methods."""
        return self._discovery.document

    def handle(self, body: bytes, connection: Connection) -> Answer:
        """Answer a request or a batch: at once if that is possible, else through an awaitable.

        None is the answer to notifications, which are carried out like other calls.
        """
        if not body.isascii() and not is_utf8(body):
            return self._refuse(ParseError("not UTF-8"))
        if body[:1] == b"[":
            return self._handle_batch(body, connection)
        try:
            request = decode_request(body)
        except (ValueError, RecursionError):
            return self._handle_odd(body, connection)
        return self._call(connection, request)

    def _handle_odd(self, body: bytes, connection: Connection) -> Answer:
        """Answer what is no single request: a batch behind spaces, or a mistake."""
        stripped = body.lstrip(b" \t\r\n")
        if stripped[:1] == b"[":
            return self._handle_batch(stripped, connection)
        try:
            identity = remaining_id(stripped)
        except ParseError as error:
            return self._refuse(error)
        if identity is None:
            return self._refuse(ParseError("a request is an object with jsonrpc, method and id"))
        return self._refuse(_not_a_request(stripped), identity)

    def _handle_batch(self, body: bytes, connection: Connection) -> Answer:
        try:
            items = self._batches.read(body)
        except ParseError as error:
            return self._refuse(error)
        if items is None:
            return self._refuse(BatchSizeError(self._limits.batch))
        if not items:
            return self._refuse(InvalidRequestError("a batch has at least one call"))
        batch = Batch(items, partial(self._answer_item, connection), self._limits.answer_bytes)
        return self._joined(batch) if batch.advance() else self._finish(batch)

    async def _finish(self, batch: Batch[Request | Raw]) -> bytes | None:
        await batch.finish()
        return self._joined(batch)

    def _joined(self, batch: Batch[Request | Raw]) -> bytes | None:
        if batch.too_large:
            return self._refuse(BatchAnswerSizeError(self._limits.answer_bytes))
        return batch.joined()

    def _answer_item(self, connection: Connection, item: Request | Raw) -> Answer:
        if isinstance(item, Request):
            return self._call(connection, item)
        try:
            identity = remaining_id(item)
        except ParseError as error:
            return self._refuse(error)
        return self._refuse(_not_a_request(item), identity or NULL)

    def _call(self, connection: Connection, request: Request) -> Answer:
        identity = bytes(request.id)
        method = self._methods.get(request.method)
        if method is None or not is_id(identity) or connection.path != "/":
            try:
                method = self._checked(request, identity, connection.path)
            except RequestError as error:
                return self._refuse(error, identity if is_id(identity) else NULL)
        started = perf_counter()
        outcome = self._perform(method, request.params, connection)
        if not isinstance(outcome, tuple):
            return self._answer_later(method, identity, outcome, started)
        self._tallies[method.name].observe(perf_counter() - started, outcome[2])
        return join(identity, outcome[0], outcome[1]) if identity else None

    async def _answer_later(
        self, method: Method, identity: bytes, awaitable: Awaitable[Outcome], started: float
    ) -> bytes | None:
        key, payload, code = await awaitable
        self._tallies[method.name].observe(perf_counter() - started, code)
        return join(identity, key, payload) if identity else None

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

    def _perform(
        self, method: Method, params: Raw, connection: Connection
    ) -> Outcome | Coroutine[None, None, Outcome]:
        try:
            arguments = method.arguments(params, connection)
            if method.offload:
                return self._offloaded(method.name, partial(method.function, *arguments))
            result = method.function(*arguments)
            if method.is_async:
                return self._awaited(method.name, result)
            if type(result) is Later:
                return self._offloaded(method.name, result.work)
            return self._encoded(result)
        except LongParams as long:
            return self._read_aside(method, long, connection)
        except Exception as error:  # noqa: BLE001  # logged as it is turned into an answer
            return _failed(error, method.name)

    async def _read_aside(
        self, method: Method, params: LongParams, connection: Connection
    ) -> Outcome:
        """Read long parameters on a worker thread, and go on as with others."""
        loop = asyncio.get_running_loop()
        try:
            values = await loop.run_in_executor(self._executor, params.read)
        except Exception as error:  # noqa: BLE001  # logged as it is turned into an answer
            return _failed(error, method.name)
        outcome = self._perform(method.having_read(values), ABSENT, connection)
        return outcome if isinstance(outcome, tuple) else await outcome

    async def _awaited(self, name: str, result: Awaitable[object]) -> Outcome:
        try:
            return self._encoded(await result)
        except Exception as error:  # noqa: BLE001  # logged as it is turned into an answer
            return _failed(error, name)

    async def _offloaded(self, name: str, work: Callable[[], object]) -> Outcome:
        """Do the work, and the encoding of what may be a long result, on a worker thread."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._executor, lambda: self._encoded(work()))
        except Exception as error:  # noqa: BLE001  # logged as it is turned into an answer
            return _failed(error, name)

    def _encoded(self, result: object) -> Outcome:
        if type(result) is Raw:
            size = memoryview(result).nbytes
            payload: bytes | Raw = result
        else:
            payload = encode(result)
            size = len(payload)
        if size > self._limits.answer_bytes:
            raise AnswerSizeError(self._limits.answer_bytes)
        return RESULT, payload, 0

    def _refuse(self, error: RequestError, identity: bytes = NULL) -> bytes | None:
        """Return the answer to what reaches no method; a notification gets none."""
        failure = failure_of(error, REFUSED)
        self.metrics.tally(REFUSED).observe(0.0, failure.code)
        return refusal(failure, identity) if identity else None


def _failed(error: Exception, method: str) -> Outcome:
    failure = failure_of(error, method)
    return ERROR, msgspec.json.encode(failure), failure.code


def _not_a_request(body: bytes | Raw) -> InvalidRequestError:
    """Say what keeps `body` from being a request."""
    try:
        decode_request(body)
    except (ValueError, RecursionError) as error:
        return InvalidRequestError(str(error).replace(" - at `$.", " - at `"))
    # What is nested deep may fail first and pass later: it depends on the depth of the stack.
    return InvalidRequestError("nested too deep")
