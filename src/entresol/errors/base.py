"""The root of the error tree, and how an error ends."""

from __future__ import annotations

from typing import TypeVar

_E = TypeVar("_E", bound=BaseException)


class EntresolError(Exception):
    """A failure that is part of normal operation."""


def without_frames(error: _E) -> _E:
    """Return an error without the frames it was raised through, and so are those it was raised from.

    A traceback holds every frame with its variables, up to the event loop. One of them often leads back to the error
    (a future, a result, a list of failures): a cycle with the whole request in it, which only the garbage collector
    would free.
    """
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = None
            left += (one.__cause__, one.__context__)
    return error
