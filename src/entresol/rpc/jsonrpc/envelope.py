"""The JSON-RPC envelope: decode requests and batches, assemble responses.

An `id` stays the bytes it was sent as, so that 1.0, 1e3 or a number of forty digits comes back unchanged. Of a
duplicate key, the last one counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from entresol._native import concatenated
from entresol.offload import POLICY
from entresol.rpc.jsonrpc.errors import ErrorObject, InvalidRequestError, ParseError

ABSENT: Final = Raw(b"")
"""The value of a member that was not sent; a request without `id` is a notification."""

RESULT: Final = b',"result":'
ERROR: Final = b',"error":'
NULL: Final = b"null"

_OPEN: Final = b'{"jsonrpc":"2.0","id":'
CLOSING: Final = b"}"
"""The end of a response, after its value."""
NOT_AN_ID: Final = frozenset({b"{", b"[", b"t", b"f"})
"""The first bytes of JSON values that cannot be an id: it is a number, a string or null."""


class Request(msgspec.Struct, gc=False):
    """One call."""

    jsonrpc: Literal["2.0"]
    method: str
    id: Raw = ABSENT
    params: Raw = ABSENT


class _WithId(msgspec.Struct):
    """A JSON object that is not a request, of which the id may still be read."""

    id: Raw = ABSENT


decode_request = msgspec.json.Decoder(Request).decode
_decode_with_id = msgspec.json.Decoder(_WithId).decode


def is_utf8(body: bytes) -> bool:
    """Say whether `body` is UTF-8; the JSON decoder does not check values that it skips."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_id(request_id: bytes) -> bool:
    """Say whether a JSON value may be an id: a number, a string or null."""
    return request_id[:1] not in NOT_AN_ID


def response(request_id: bytes, member: bytes, value: bytes | Raw) -> bytes:
    """Assemble a response; `member` is `RESULT` or `ERROR`."""
    parts = _OPEN, request_id or NULL, member, value, CLOSING
    return (
        concatenated(parts) if memoryview(value).nbytes > POLICY.copied_bytes else b"".join(parts)
    )


def opening(request_id: bytes, member: bytes) -> bytes:
    """Return what precedes the value of a response, where the value is long."""
    return _OPEN + (request_id or NULL) + member


def error_response(error: ErrorObject, request_id: bytes = NULL) -> bytes:
    """Assemble the response to a request that failed."""
    return response(request_id, ERROR, msgspec.json.encode(error))


def id_of_malformed(body: bytes | Raw) -> bytes | None:
    """Return the id of a JSON value that is not a request, or None if it has none.

    Raise ParseError if `body` is not JSON. An id of a wrong type counts as null.
    """
    try:
        request_id = bytes(_decode_with_id(body).id)
    except msgspec.ValidationError:
        return None
    except RecursionError:
        raise ParseError("nested too deep") from None
    except ValueError as error:
        raise ParseError(str(error)) from None
    if not request_id:
        return None
    return request_id if is_id(request_id) else NULL


def not_a_request(body: bytes | Raw) -> InvalidRequestError:
    """Return the reason why `body` is not a request."""
    try:
        decode_request(body)
    except (ValueError, RecursionError) as error:
        return InvalidRequestError(str(error).replace(" - at `$.", " - at `"))
    # Deeply nested JSON may fail first and pass later: it depends on the depth of the stack.
    return InvalidRequestError("nested too deep")


class RequestBatchReader:
    """Decodes the items of a batch, and no more of them than are allowed.

    An array of a million items is not decoded into a list first: the decoder fills a struct with one field per
    item, and skips the rest.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit

    @cached_property
    def _decode_requests(self) -> Callable[[bytes], msgspec.Struct]:
        return _items_decoder(Request, self._limit + 1)

    @cached_property
    def _decode_raw(self) -> Callable[[bytes], msgspec.Struct]:
        return _items_decoder(Raw, self._limit + 1)

    def read(self, body: bytes) -> list[Request | Raw] | None:
        """Return requests, with raw JSON for other items, or None if there are too many.

        Raise ParseError if `body` is not JSON.
        """
        try:
            items = self._items(body)
        except RecursionError:
            raise ParseError("nested too deep") from None
        except ValueError as error:
            raise ParseError(str(error)) from None
        return None if len(items) > self._limit else items

    def _items(self, body: bytes) -> list[Request | Raw]:
        try:
            found = msgspec.structs.astuple(self._decode_requests(body))
        except msgspec.ValidationError:
            found = msgspec.structs.astuple(self._decode_raw(body))
            return [_request_or_raw(item) for item in found if item is not UNSET]
        # Unset fields are all at the end.
        return list(found[: found.index(UNSET)] if found[-1] is UNSET else found)


def _request_or_raw(item: Raw) -> Request | Raw:
    try:
        return decode_request(item)
    except (ValueError, RecursionError):
        return item


@cache
def _items_decoder(kind: type, count: int) -> Callable[[bytes], msgspec.Struct]:
    fields = [(f"item_{index}", kind | UnsetType, UNSET) for index in range(count)]
    return msgspec.json.Decoder(msgspec.defstruct("Items", fields, array_like=True)).decode
