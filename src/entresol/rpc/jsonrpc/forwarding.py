"""Decide for each call of a replica whether it is the producer's, and forward it if so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from typing import Final, Protocol, TypeAlias, cast

import msgspec
from msgspec import Raw

from entresol.errors import EntresolError
from entresol.errors.base import without_frames
from entresol.rpc.jsonrpc.batch import Response
from entresol.rpc.jsonrpc.envelope import Request, error_response
from entresol.rpc.jsonrpc.errors import BatchResponseSizeError, error_object_of
from entresol.rpc.jsonrpc.method import Method, ServedBy
from entresol.server.handler import ClientConnection, completed

_PENDING: Final = b'"pending"'
_ABSENT: Final = (None, Raw(b'"0x"'))
"""What methods return for an object that no sealed block has."""

Item: TypeAlias = Request | Raw
"""One item of a batch; raw JSON is no request."""


class Producer(Protocol):
    """The producer, as the dispatcher of a replica sees it."""

    @property
    def takes(self) -> Collection[ServedBy]:
        """What is forwarded now; `PRODUCER` is always among it, unless this node itself is the producer."""

    def forward(
        self, body: bytes, connection: ClientConnection, *, waits: bool
    ) -> Awaitable[bytes | None]:
        """Return the producer's response to a request or a batch; raise `ProducerUnavailable` without one.

        One that `waits` may take as long as its client wants.
        """

    def catch_up(self) -> None:
        """Apply what the producer has announced, so that the next call sees what a forwarded one did."""


class Forwarding:
    """Forwards calls to the producer.

    Remembers: nothing. Persists: nothing. Assumes: that forwarding is always right, only slower.
    Fails: never: what the producer does not respond to becomes an error response.
    """

    def __init__(self, producer: Producer, methods: Mapping[str, Method]) -> None:
        self._producer = producer
        self._methods = methods

    def takes(self, method: Method, params: Raw) -> bool:
        """Return whether a call is the producer's, by the method's declaration and its block tag."""
        served_by, taken = method.served_by, self._producer.takes
        if not taken:
            return False
        if served_by is None or served_by in taken:
            return not method.needs_connection
        if served_by is not ServedBy.BLOCK:
            return False
        text = bytes(params)
        # A backslash may be the escape of a letter of `pending`.
        return _PENDING in text or b"\\" in text

    @property
    def takes_reads(self) -> bool:
        """Whether reads of blocks are the producer's now, as while it has edits that are in no block."""
        taken = self._producer.takes
        return ServedBy.BLOCK in taken or ServedBy.REPLICA in taken

    def takes_absent(self, method: Method, result: object) -> bool:
        """Return whether a call is the producer's because the store does not have the object."""
        is_absent = method.served_by is ServedBy.STORE and result in _ABSENT
        return is_absent and bool(self._producer.takes)

    async def call(self, request: Request, connection: ClientConnection) -> bytes | None:
        """Return the producer's response to a call."""
        try:
            waits = self._waits(request)
            return await self._producer.forward(request_bytes(request), connection, waits=waits)
        except EntresolError as error:
            return _failed(request, error)

    def has_forwarded(self, items: list[Item]) -> bool:
        """Return whether the producer serves an item of a batch."""
        return any(map(self._takes_item, items))

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
        for index, run in self._runs(items):
            if self._takes_item(run[0]):
                response = await self._forward_run(cast("list[Request]", run), connection)
                self._producer.catch_up()
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

    def _runs(self, items: list[Item]) -> Iterator[tuple[int, list[Item]]]:
        """Yield the runs as they start, those of methods that are `last` in the end, with the index of the first item.

        Each is found when it starts: what is forwarded may depend on what the one before did.
        """
        for is_last in (False, True):
            index = 0
            while index < len(items):
                kind, end = self._kind(items[index]), index + 1
                while end < len(items) and self._kind(items[end]) == kind:
                    end += 1
                if kind[0] is is_last:
                    yield index, items[index:end]
                index = end

    def _kind(self, item: Item) -> tuple[bool, bool]:
        """Return whether an item is `last`, and whether it is forwarded."""
        method = self._methods.get(item.method) if isinstance(item, Request) else None
        return method is not None and method.is_last, self._takes_item(item)

    def _takes_item(self, item: Item) -> bool:
        method = self._methods.get(item.method) if isinstance(item, Request) else None
        return method is not None and self.takes(method, cast("Request", item).params)

    def _waits(self, request: Request) -> bool:
        return self._methods[request.method].waits

    async def _forward_run(self, run: list[Request], connection: ClientConnection) -> bytes | None:
        body = b"[" + b",".join(map(request_bytes, run)) + b"]"
        try:
            waits = any(map(self._waits, run))
            return await self._producer.forward(body, connection, waits=waits)
        except EntresolError as error:
            failed = [_failed(it, error) for it in run]
        responses = [it for it in failed if it is not None]
        return b"[" + b",".join(responses) + b"]" if responses else None


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


def _failed(request: Request, error: EntresolError) -> bytes | None:
    request_id = bytes(request.id)
    failed = error_object_of(error, request.method) if request_id else None
    without_frames(error)
    return None if failed is None else error_response(failed, request_id)
