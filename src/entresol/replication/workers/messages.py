"""What a producer and its workers send each other: a byte for the kind, one for the layer, and the rest."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from entresol.server.handler import PageResponse

LAYER_TWO: Final = 0
"""The first L2. Others follow, and the development L1 is the last."""
REMOTE_L1: Final = 254
"""In place of a layer: what the explorer reads from the L1 of --l1-url."""
CLUSTER: Final = 255
"""In place of a layer: a request of another node of the cluster.

Its payload is the number of the client (0 unless the producer may push to it), the path, a line break, and the body.
"""


class WorkerCall(IntEnum):
    """What has a response."""

    REQUEST = 0
    """A request or a batch of JSON-RPC, of a worker."""
    PAGE = 1
    """A page by its path, of a worker."""
    METRICS = 2
    """The metrics of a worker's process, of the producer."""


class WorkerMessage(IntEnum):
    """What has none."""

    START = 0
    """To a worker: what it serves."""
    READY = 1
    """Of a worker: it listens."""
    STOP = 2
    """To a worker."""
    SEALED = 3
    """To a worker with subscribers: the record of a new block."""
    TRANSACTION = 4
    """To a worker with subscribers: a pending transaction and its sender."""
    WANTED = 7
    """Of a worker: it has other subscribers, as the state page says."""
    REVERTED = 6
    """To a worker with subscribers: a revert, with the records of its blocks."""
    LOG = 5
    """Of a worker: lines of its log, to standard output; to standard error if the layer's byte is 1."""
    PUSH = 8
    """To a worker: the number of a client, and a document for it."""
    DAMAGED = 10
    """Of a worker: what it could not read of a layer's store."""
    CLIENT_GONE = 9
    """Of a worker: the number of a client that has made its last request."""


def encode_page(page: PageResponse) -> bytes:
    """Return the bytes that `decode_page` reads."""
    return msgspec.msgpack.encode(page)


def decode_page(payload: bytes) -> PageResponse:
    """Return a page."""
    status, content_type, body = msgspec.msgpack.decode(payload, type=tuple[int, str, bytes])
    return status, content_type, body
