"""The parts of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable


class Part(Protocol):
    """A part that a node starts and stops.

    `stop` also ends a part that was never started, or has failed to start. A part that fails while it runs is tried
    again, and says why in its `problem`: the node is degraded then.
    """

    @property
    def problem(self) -> str | None:
        """The failure of what is tried again; None if nothing fails."""

    async def start(self) -> None:
        """Start, once the parts before it have started."""

    async def stop(self) -> None:
        """Stop, once the parts after it have stopped."""


class Closing:
    """A part that only has to be closed, at its place in the order."""

    problem = None

    def __init__(self, close: Callable[[], Awaitable[None]]) -> None:
        self._close = close

    async def start(self) -> None:
        """Do nothing: it is open."""

    async def stop(self) -> None:
        """Close it."""
        await self._close()


def first_problem(parts: Iterable[Part]) -> str | None:
    """Return the problem of the first part that has one."""
    return next((problem for part in parts if (problem := part.problem) is not None), None)
