"""The JSON-RPC envelope: requests as they are read, answers as they are put together.

An `id` is kept as the bytes it was sent in, so that 1.0, 1e3 or a number of forty digits comes back as it
was. Of a key that appears twice, the last one counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from entresol.rpc.jsonrpc.errors import Failure, ParseError

ABSENT: Final = Raw(b"")
"""What stands for a member that was not sent; a request without `id` is a notification."""

RESULT: Final = b',"result":'
ERROR: Final = b',"error":'
NULL: Final = b"null"

_OPEN: Final = b'{"jsonrpc":"2.0","id":'
_CLOSE: Final = b"}"
NOT_AN_ID: Final = frozenset({b"{", b"[", b"t", b"f"})
"""How JSON values begin that cannot be an id: it is a number, a string or null."""


class Request(msgspec.Struct, gc=False):
    """One call."""

    jsonrpc: Literal["2.0"]
    method: str
    id: Raw = ABSENT
    params: Raw = ABSENT


class Remains(msgspec.Struct):
    """What can still be read of a JSON object that is no request."""

    id: Raw = ABSENT


decode_request = msgspec.json.Decoder(Request).decode
_decode_remains = msgspec.json.Decoder(Remains).decode


def is_utf8(body: bytes) -> bool:
    """Say whether `body` is text at all; the JSON decoder does not look into what it skips."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_id(identity: bytes) -> bool:
    """Say whether the JSON value `identity` may be an id: a number, a string or null."""
    return identity[:1] not in NOT_AN_ID


def join(identity: bytes, key: bytes, payload: bytes | Raw) -> bytes:
    """Put an answer together; `key` is `RESULT` or `ERROR`."""
    return b"".join((_OPEN, identity or NULL, key, payload, _CLOSE))


def rejection(failure: Failure, identity: bytes = NULL) -> bytes:
    """Return the answer that consists of `failure`."""
    return join(identity, ERROR, msgspec.json.encode(failure))


def remaining_id(body: bytes | Raw) -> bytes | None:
    """Return the id of an object that is no request, or None if nothing can be told.

    Raise ParseError if `body` is no JSON. An id of a wrong kind counts as null.
    """
    try:
        identity = bytes(_decode_remains(body).id)
    except msgspec.ValidationError:
        return None
    except RecursionError:
        raise ParseError("nested too deep") from None
    except ValueError as error:
        raise ParseError(str(error)) from None
    if not identity:
        return None
    return identity if is_id(identity) else NULL


class RequestBatchReader:
    """Reads the items of a batch, and no more of them than are allowed.

    An array of a million items is not read into a list first: the decoder fills a structure with one
    field an item, and only skips over what comes after.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._decode_requests = _items_decoder(Request, limit + 1)
        self._decode_raw = _items_decoder(Raw, limit + 1)

    def read(self, body: bytes) -> list[Request | Raw] | None:
        """Return requests, with raw JSON in place of what is none, or None if they are too many.

        Raise ParseError if `body` is no JSON.
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


def _items_decoder(kind: type, count: int) -> Callable[[bytes], msgspec.Struct]:
    """Return what decodes the first `count` items of an array."""
    fields = [(f"item_{index}", kind | UnsetType, UNSET) for index in range(count)]
    return msgspec.json.Decoder(msgspec.defstruct("Items", fields, array_like=True)).decode
