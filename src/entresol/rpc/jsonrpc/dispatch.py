"""Dispatch JSON-RPC requests and batches to methods: bytes in, bytes out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec import Raw

from entresol.rpc.jsonrpc.envelope import (
    NULL,
    Request,
    RequestBatchReader,
    decode_request,
    id_of_malformed,
    is_utf8,
    not_a_request,
)
from entresol.rpc.jsonrpc.errors import (
    BatchResponseSizeError,
    BatchSizeError,
    InvalidRequestError,
    ParseError,
)
from entresol.rpc.jsonrpc.forwarding import Forwarding, Item, Router, own_methods
from entresol.rpc.jsonrpc.long_request import LongRequest, ScanOrder, read_long
from entresol.rpc.jsonrpc.method import Namespace
from entresol.rpc.jsonrpc.method_caller import MethodCaller
from entresol.rpc.jsonrpc.metrics import Metrics
from entresol.rpc.jsonrpc.native_methods import NativeReads, count_native_calls, native_dispatcher
from entresol.rpc.jsonrpc.openrpc import Discovery, Json
from entresol.rpc.jsonrpc.request_batch import (
    BatchTurns,
    DeferredResponse,
    RequestBatch,
    Response,
    StartableResponse,
)
from entresol.rpc.jsonrpc.served_method import Method, methods_of
from entresol.rpc.threads.client_threads import LoopThreads, Threads, serve
from entresol.server.handler import ClientConnection

MAX_NATIVE_BODY_BYTES: Final = 256 << 10
"""How long a request or a batch may be that needs no Python; scanning a longer one for that would be in vain."""


class RequestLimits(msgspec.Struct, frozen=True):
    """How many calls a batch may have, and how long a response may be."""

    batch: int = 500
    response_bytes: int = 24 << 20


class Dispatcher:
    """Calls the methods of the namespaces it is given.

    With a `router` it is a replica's, and forwards the calls that are the producer's.

    Remembers: call metrics, and results of methods declared `cached` until they are invalidated.
    Assumes:   that it is called on the event loop, and that methods which are not offloaded are quick.
    Fails:     never: whatever a method raises becomes an error response.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        namespaces: Iterable[Namespace],
        *,
        threads: Threads | None = None,
        limits: RequestLimits = RequestLimits(),  # noqa: B008  # frozen
        metrics: Metrics | None = None,
        router: Router | None = None,
        reads: NativeReads | None = None,
        flush: Callable[[], None] = lambda: None,
        routed: Callable[[Mapping[str, Method]], dict[str, Method]] = dict,
    ) -> None:
        """Dispatch to the methods of `namespaces`, or to others that `routed` returns in place of them.

        `flush` is called after a request that is alone and not done.
        """
        self._flush = flush
        self._discovery = Discovery()
        self._methods = routed(methods_of([*namespaces, self._discovery]))
        self._discovery.methods = self.methods
        self._limits = limits
        self.metrics = metrics or Metrics()
        for name, method in self._methods.items():
            method.metrics = self.metrics.of_method(name)
        self._last = {name for name, method in self._methods.items() if method.is_last}
        self._forwarding = None if router is None else Forwarding(router, self._methods)
        self._batches = RequestBatchReader(limits.batch)
        self._turns = BatchTurns()
        self._scans = ScanOrder()
        self._native = native_dispatcher(
            own_methods(self._methods.values(), router),
            reads,
            batch=limits.batch,
            max_bytes=limits.response_bytes,
        )
        self._caller = MethodCaller(
            self._methods,
            threads or LoopThreads(),
            self.metrics,
            max_bytes=limits.response_bytes,
            cache=self._native.insert,
            forwarding=self._forwarding,
        )
        self.invalidate_cache = self._native.clear
        """Drop all cached results, because blocks changed."""

    @property
    def methods(self) -> Mapping[str, Method]:
        """Return all methods by name."""
        return MappingProxyType(self._methods)

    def openrpc(self) -> Json:
        """Return the OpenRPC document of all methods."""
        return self._discovery.document

    @property
    def cached_bytes(self) -> int:
        """How many bytes the cached results take."""
        return self._native.size

    def render_metrics(self) -> str:
        """Return the metrics of all methods in the text format of Prometheus."""
        count_native_calls(self._native, self.metrics)
        return self.metrics.render()

    def handle(self, body: bytes, connection: ClientConnection) -> Response:
        """Respond to a request or a batch: at once if that is possible, else through an awaitable.

        A notification is carried out like other calls; its response is None.
        """
        known = (
            self._native.response(body) if self._serves_natively(body, connection.path) else None
        )
        if type(known) is bytes:
            return known
        serve(connection)
        if known is not None:
            return self._caller.finish(*known)
        if len(body) > MAX_NATIVE_BODY_BYTES:
            return self._handle_long(body, connection)
        if self._scans.is_behind(connection):
            return self._scans.call(
                connection, _nothing(), lambda _: self._handle_text(body, connection)
            )
        return self._handle_text(body, connection)

    def _handle_long(self, body: bytes, connection: ClientConnection) -> Response:
        """Respond to a request or a batch that takes long to scan, which a thread does without the GIL."""
        # Not on the threads of the methods, where it would wait for those that run.
        scan = asyncio.get_running_loop().run_in_executor(None, self._read_long, body)
        return self._scans.call(connection, scan, partial(self._handle_scanned, body, connection))

    def _handle_scanned(
        self, body: bytes, connection: ClientConnection, found: LongRequest | list[Item] | None
    ) -> Response:
        if found is None:
            return self._handle_text(body, connection)
        if isinstance(found, list):
            return self._handle_requests(found, connection)
        return self._caller.call(connection, found)

    def _read_long(self, body: bytes) -> LongRequest | list[Request | Raw] | None:
        """Read a long request or a batch on a thread, with parameters that would be decoded on the event loop."""
        found = read_long(body)
        # What a replica forwards, the producer decodes.
        if found is not None and self._forwarding is None:
            for request in found if isinstance(found, list) else [found]:
                if type(request) is LongRequest:
                    request.read_ahead(self._methods)
        return found

    def _handle_text(self, body: bytes, connection: ClientConnection) -> Response:
        if not body.isascii() and not is_utf8(body):
            return self._caller.reject(ParseError("not UTF-8"))
        if body[:1] == b"[":
            return self._handle_batch(body, connection)
        try:
            request = decode_request(body)
        except (ValueError, RecursionError):
            return self._handle_malformed(body, connection)
        response = self._caller.call(connection, request)
        if type(response) is DeferredResponse or type(response) is StartableResponse:
            # Nothing else of its request can share a block with it.
            return response.now(self._flush)
        return response

    def _serves_natively(self, body: bytes, path: str = "/") -> bool:
        is_short = path == "/" and len(body) <= MAX_NATIVE_BODY_BYTES
        return is_short and (self._forwarding is None or self._forwarding.serves_reads)

    def _handle_malformed(self, body: bytes, connection: ClientConnection) -> Response:
        """Respond to what is not a single request: a batch behind white space, or a mistake."""
        stripped = body.lstrip(b" \t\r\n")
        if stripped[:1] == b"[":
            return self._handle_batch(stripped, connection)
        try:
            request_id = id_of_malformed(stripped)
        except ParseError as error:
            return self._caller.reject(error)
        if request_id is None:
            return self._caller.reject(
                ParseError("a request is an object with jsonrpc, method and id")
            )
        return self._caller.reject(not_a_request(stripped), request_id)

    def _handle_batch(self, body: bytes, connection: ClientConnection) -> Response:
        try:
            items = self._batches.read(body)
        except ParseError as error:
            return self._caller.reject(error)
        return self._handle_requests(items, connection)

    def _handle_requests(self, items: list[Item] | None, connection: ClientConnection) -> Response:
        if items is None or len(items) > self._limits.batch:
            return self._caller.reject(BatchSizeError(self._limits.batch))
        if not items:
            return self._caller.reject(InvalidRequestError("a batch has at least one call"))
        forwarding = self._forwarding
        if forwarding is not None and forwarding.has_forwarded(items, connection):
            return self._forward_batch(forwarding, items, connection)
        return self._handle_items(connection, items)

    async def _forward_batch(
        self, forwarding: Forwarding, items: list[Item], connection: ClientConnection
    ) -> bytes | None:
        handle = partial(self._handle_items, connection)
        try:
            return await forwarding.batch(items, connection, handle, self._limits.response_bytes)
        except BatchResponseSizeError as error:
            return self._caller.reject(error)

    def _handle_items(self, connection: ClientConnection, items: list[Item]) -> Response:
        batch = RequestBatch(
            items,
            partial(self._handle_item, connection),
            self._limits.response_bytes,
            self._is_grouped,
            self._is_last,
            self._turns,
        )
        return self._joined(batch) if batch.advance() else self._finish(batch)

    async def _finish(self, batch: RequestBatch[Item]) -> bytes | None:
        await batch.finish()
        return self._joined(batch)

    def _joined(self, batch: RequestBatch[Item]) -> bytes | None:
        if batch.too_large:
            return self._caller.reject(BatchResponseSizeError(self._limits.response_bytes))
        return batch.joined()

    def _is_grouped(self, item: Item) -> bool:
        method = self._methods.get(item.method) if isinstance(item, Request) else None
        return method is not None and method.is_grouped

    def _is_last(self, item: Item) -> bool:
        return type(item) is Request and item.method in self._last

    def _handle_item(self, connection: ClientConnection, item: Item) -> Response:
        if isinstance(item, Request):
            return self._handle_plain(item, connection) or self._caller.call(connection, item)
        try:
            request_id = id_of_malformed(item)
        except ParseError as error:
            return self._caller.reject(error)
        return self._caller.reject(not_a_request(item), request_id or NULL)

    def _handle_plain(self, item: Request, connection: ClientConnection) -> Response:
        params = bytes(item.params)
        if not self._serves_natively(params, connection.path):
            return None
        known = self._native.item(bytes(item.id), item.method, params)
        return known if known is None or type(known) is bytes else self._caller.finish(*known)


async def _nothing() -> None:
    """Return nothing: a short request is not scanned."""
