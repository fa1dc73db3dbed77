"""Ask L1 until it says the same twice in a row: nothing is believed for ever that it has said once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from entresol.errors import LayerOneMismatch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


T = TypeVar("T")

MAX_READINGS: Final = 5
"""More blocks than an L1 makes between as many requests."""


class NamedLayerOne(Protocol):
    """An L1 that messages name."""

    @property
    def name(self) -> str:
        """Its name."""


async def agreed(l1: NamedLayerOne, what: str, read: Callable[[], Awaitable[T]]) -> T:
    """Return what L1 says twice in a row; raise `LayerOneMismatch` if it says something else each time."""
    last = await read()
    for _ in range(MAX_READINGS - 1):
        found = await read()
        if found == last:
            return found
        last = found
    raise LayerOneMismatch(f"{l1.name} says something else each time that it is asked for {what}")
