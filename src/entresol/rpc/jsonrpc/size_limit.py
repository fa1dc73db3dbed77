"""Stop rendering a response once it is longer than allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from entresol.rpc.jsonrpc.cooperative import cooperatively
from entresol.rpc.jsonrpc.errors import ResponseSizeError

T = TypeVar("T")


def within_limit(parts: Iterable[T], max_bytes: int, size_of: Callable[[T], int]) -> Iterator[T]:
    """Yield the parts of a response cooperatively; raise `ResponseSizeError` once they are too long together.

    A response that is too long is rejected anyway. Rendering all of it first would take its time and memory.
    """
    left = max_bytes
    for part in cooperatively(parts):
        left -= size_of(part)
        if left < 0:
            raise ResponseSizeError(max_bytes)
        yield part
