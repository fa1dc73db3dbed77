"""Bound the memory of long requests: of those that are received or in progress, and of what they may leave behind."""

from __future__ import annotations

import gc
from time import monotonic
from typing import Final

LONG_BYTES: Final = 64 * 1024
"""Shorter requests are not counted: their number is bounded by that of connections."""
COLLECT_BYTES: Final = 256 << 20
"""How many bytes of long requests are received between two collections of garbage."""
FULL_COLLECTION_SECONDS: Final = 10.0
"""The least time between two collections of all garbage."""


class RequestBytes:
    """Counts the bytes of long requests, from the first one received until nothing holds the request any more.

    A request that a cycle of references holds counts until the garbage collector has found it. So the collector runs
    after so many bytes, however few objects they are, and before a request is rejected.

    Remembers: the bytes, and rejections. Persists: nothing. Assumes: one event loop. Fails: never.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        """Bytes of long requests that are held now."""
        self.uncollected = 0
        """Bytes of long requests since garbage was collected."""
        self.rejected = 0
        """Requests that were rejected so far."""
        self._next_full_collection = 0.0

    def hold(self, size: int) -> HeldBytes | None:
        """Count bytes of a request until the result is dropped; return None if there is no room for them."""
        held = HeldBytes(self)
        return held if held.grow(size) else None

    def take(self, size: int) -> bool:
        """Count bytes, and return whether there is room for them; a request without room counts as rejected."""
        self._collect_after(size)
        if self.used + size > self.limit and not self._has_room_after_collection(size):
            self.rejected += 1
            return False
        self.used += size
        return True

    def _collect_after(self, size: int) -> None:
        self.uncollected += size
        if self.uncollected > COLLECT_BYTES:
            self.uncollected = 0
            # Not the oldest objects, which would take long: a request is seldom among them.
            gc.collect(1)

    def _has_room_after_collection(self, size: int) -> bool:
        now = monotonic()
        if now < self._next_full_collection:
            return False
        self._next_full_collection = now + FULL_COLLECTION_SECONDS
        gc.collect()
        return self.used + size <= self.limit


class HeldBytes:
    """The bytes of one long request. They are free again when nothing refers to this object."""

    __slots__ = ("_requests", "size")

    def __init__(self, requests: RequestBytes) -> None:
        self._requests = requests
        self.size = 0

    def grow(self, size: int) -> bool:
        """Count more bytes, and return whether there is room for them."""
        if not self._requests.take(size):
            return False
        self.size += size
        return True

    def __del__(self) -> None:
        self._requests.used -= self.size
