"""The root of the error tree, what a client receives of an error, and how an error ends."""

from __future__ import annotations

from typing import ClassVar, Final, TypeVar

__all__ = ["INTERNAL", "EntresolError", "InvalidParams", "NotPossible", "without_frames"]

INTERNAL: Final = -32603
"""The code of JSON-RPC for an internal error."""

_E = TypeVar("_E", bound=BaseException)


class EntresolError(Exception):
    """A failure that is part of normal operation; each kind says what a client receives, and subclasses inherit it."""

    rpc_code: ClassVar[int] = INTERNAL
    """The code; an internal error is logged, and the client receives the id of the log entry and nothing else."""
    is_explained: ClassVar[bool] = False
    """Whether a client receives text and data of an error all the same that other nodes respond to as internal."""
    rpc_text: ClassVar[str] = ""
    """A text of its own for clients; else they receive that of the error."""
    simulation_code: int = 0
    """The code of a call that `eth_simulateV1` rejects for this reason, if it has one."""

    @property
    def rpc_data(self) -> str | dict[str, str] | None:
        """The `data` that a client receives beside code and text."""
        return None


class InvalidParams(EntresolError):
    """A parameter that can be read, and that the method does not take."""

    rpc_code = -32602


class NotPossible(EntresolError):
    """A request that is right, and that the node does not serve as it is or at the moment."""

    rpc_code = -32000


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
