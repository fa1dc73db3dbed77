"""Forward the calls of a replica that its router says are the producer's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from enum import Enum, auto
from typing import Final, NamedTuple, Protocol, TypeAlias, cast

import msgspec
from msgspec import Raw

from entresol.errors import EntresolError
from entresol.errors.base import without_frames
from entresol.rpc.jsonrpc.envelope import Request, error_response
from entresol.rpc.jsonrpc.errors import BatchResponseSizeError, error_object_of
from entresol.rpc.jsonrpc.method import ServedBy
from entresol.rpc.jsonrpc.request_batch import Response
from entresol.rpc.jsonrpc.served_method import Method
from entresol.server.handler import ClientConnection, completed

_PENDING: Final = b'"pending"'
_ABSENT: Final = (None, Raw(b'"0x"'))
"""The results of methods for an object that no sealed block has."""

Item: TypeAlias = Request | Raw
"""One item of a batch; raw JSON is not a request."""


class Route(Enum):
    """Where a call of a replica is served."""

    HERE = auto()
    UPSTREAM = auto()
    """By the producer, to which it is forwarded."""
    HERE_THEN_UPSTREAM = auto()
    """Here if the store has the object, else by the producer."""


class Declared(NamedTuple):
    """The facts that decide where a call is served: the declaration of its method, and its block."""

    served_by: ServedBy | None
    needs_connection: bool = False
    """Whether it depends on the connection it comes from, so that it cannot be forwarded."""
    names_pending: bool = False
    """Whether its parameters may name the pending block."""

    @classmethod
    def of(cls, method: Method) -> Declared:
        """Return what a method declares."""
        return cls(method.served_by, method.needs_connection)


_PENDING_BLOCK: Final = Declared(ServedBy.BLOCK, names_pending=True)


class Upstream(Protocol):
    """The way from a replica to its producer."""

    def forward(
        self, body: bytes, connection: ClientConnection, *, waits: bool, ordered: bool
    ) -> Awaitable[bytes | None]:
        """Return the producer's response to a request or a batch; raise `ProducerUnavailable` without one.

        One that `waits` may take as long as its client wants. Those of a client that are `ordered` begin as they come.
        """

    def catch_up(self) -> None:
        """Apply what the producer has announced, so that the next call sees what a forwarded one did."""


class Router(Upstream, Protocol):
    """Where calls of a replica are served, and the way to its producer."""

    def route(self, declared: Declared) -> Route:
        """Return where a call is served now."""

    @property
    def serves_reads(self) -> bool:
        """Whether reads of blocks are served here now; not while the producer has edits that are in no block."""

    def is_never_forwarded(self, declared: Declared) -> bool:
        """Return whether a call is served here whenever reads are."""


class Forwarding:
    """Forwards calls to the producer.

    Assumes: that forwarding is always right, only slower. Fails: never: what the producer does not respond to becomes
    an error response.
    """

    def __init__(self, router: Router, methods: Mapping[str, Method]) -> None:
        self._router = router
        self._methods = methods
        self._declared = {name: Declared.of(method) for name, method in methods.items()}

    def route(self, method: Method, params: Raw) -> Route:
        """Return where a call is served, by the method's declaration and its block tag."""
        found = self._router.route(self._declared[method.name])
        if method.served_by is ServedBy.BLOCK:
            pending = self._router.route(_PENDING_BLOCK)
            # Only then: a search takes a pass over all of the parameters.
            if found is not pending and _may_name_pending(bytes(params)):
                return pending
        return found

    @property
    def serves_reads(self) -> bool:
        """Whether reads of blocks are served here now."""
        return self._router.serves_reads

    async def call(self, request: Request, connection: ClientConnection) -> bytes | None:
        """Return the producer's response to a call."""
        try:
            method = self._methods[request.method]
            return await self._router.forward(
                request_bytes(request), connection, waits=method.waits, ordered=_is_ordered(method)
            )
        except EntresolError as error:
            return _failed(request, error)

    def has_forwarded(self, items: list[Item], connection: ClientConnection) -> bool:
        """Return whether the producer serves an item of a batch."""
        return any(self._is_forwarded(item, connection) for item in items)

    async def batch(
        self,
        items: list[Item],
        connection: ClientConnection,
        handle: Callable[[list[Item]], Response],
        limit: int,
    ) -> bytes | None:
        """Return the response to a batch: runs of items that are ours by `handle`, others by the producer.

        An item that follows a forwarded one starts after it, and sees what it did; those that are `last` start after
        all others. The responses stand as the items do. Raise `BatchResponseSizeError` once the responses of all runs
        exceed `limit` bytes; no more calls start.
        """
        responses: dict[int, bytes] = {}
        size = 0
        for index, run in self._runs(items, connection):
            if self._is_forwarded(run[0], connection):
                response = await self._forward_run(cast("list[Request]", run), connection)
                self._router.catch_up()
            else:
                response = await completed(handle(run))
            if response is not None and response[:1] != b"[":
                # All of it failed, as by a limit of its size.
                return response
            if response is not None:
                responses[index] = response[1:-1]
                size += len(response)
            if size > limit:
                raise BatchResponseSizeError(limit)
        ordered = [responses[index] for index in sorted(responses)]
        return b"[" + b",".join(ordered) + b"]" if ordered else None

    def _runs(
        self, items: list[Item], connection: ClientConnection
    ) -> Iterator[tuple[int, list[Item]]]:
        """Yield the runs as they start, those of methods that are `last` in the end, with the index of the first item.

        Each is found when it starts: what is forwarded may depend on what the one before did.
        """
        for is_last in (False, True):
            index = 0
            while index < len(items):
                kind, end = self._kind(items[index], connection), index + 1
                while end < len(items) and self._kind(items[end], connection) == kind:
                    end += 1
                if kind[0] is is_last:
                    yield index, items[index:end]
                index = end

    def _kind(self, item: Item, connection: ClientConnection) -> tuple[bool, bool]:
        """Return whether an item is `last`, and whether it is forwarded."""
        method = self._methods.get(item.method) if isinstance(item, Request) else None
        return method is not None and method.is_last, self._is_forwarded(item, connection)

    def _is_forwarded(self, item: Item, connection: ClientConnection) -> bool:
        method = self._methods.get(item.method) if isinstance(item, Request) else None
        # Who may not call a method is known here alone.
        if method is None or (method.names_url and connection.is_foreign):
            return False
        return self.route(method, cast("Request", item).params) is Route.UPSTREAM

    async def _forward_run(self, run: list[Request], connection: ClientConnection) -> bytes | None:
        body = b"[" + b",".join(map(request_bytes, run)) + b"]"
        try:
            methods = [self._methods[request.method] for request in run]
            return await self._router.forward(
                body,
                connection,
                waits=any(method.waits for method in methods),
                ordered=any(map(_is_ordered, methods)),
            )
        except EntresolError as error:
            failed = [_failed(request, error) for request in run]
        responses = [response for response in failed if response is not None]
        return b"[" + b",".join(responses) + b"]" if responses else None


def own_methods(methods: Iterable[Method], router: Router | None) -> list[Method]:
    """Return the methods that are served here whenever reads are; all without a router."""
    return [
        method
        for method in methods
        if router is None or router.is_never_forwarded(Declared.of(method))
    ]


def is_absent(result: object) -> bool:
    """Return whether a result says that no sealed block has an object."""
    return result in _ABSENT


def _may_name_pending(params: bytes) -> bool:
    # A backslash may be the escape of a letter of `pending`.
    return _PENDING in params or b"\\" in params


def _is_ordered(method: Method) -> bool:
    """Return whether a method sends something, which has its place after what its client has sent before."""
    return method.is_grouped or method.waits


def request_bytes(request: Request) -> bytes:
    """Return a request as JSON, with `id` and `params` as they came."""
    request_id, params = bytes(request.id), bytes(request.params)
    return b"".join(
        (
            b'{"jsonrpc":"2.0",',
            b'"id":' + request_id + b"," if request_id else b"",
            b'"method":' + msgspec.json.encode(request.method),
            b',"params":' + params if params else b"",
            b"}",
        )
    )


def has_id(body: bytes) -> bool:
    """Return whether the bytes of a request have an id, so that it gets a response."""
    return body.startswith(b'{"jsonrpc":"2.0","id":')


def _failed(request: Request, error: EntresolError) -> bytes | None:
    request_id = bytes(request.id)
    failed = error_object_of(error, request.method) if request_id else None
    without_frames(error)
    return None if failed is None else error_response(failed, request_id)
