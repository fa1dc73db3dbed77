"""Callbacks of those who want to know that something has happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

_P = ParamSpec("_P")


class Listeners(Generic[_P]):
    """Callbacks, called in the order in which they were added; after one that fails, no other is."""

    def __init__(self) -> None:
        self._callbacks: tuple[Callable[_P, object], ...] = ()

    def add(self, callback: Callable[_P, object]) -> None:
        """Have `callback` called from now on."""
        self._callbacks = (*self._callbacks, callback)

    def notify(self, *args: _P.args, **kwargs: _P.kwargs) -> None:
        """Call all callbacks."""
        for callback in self._callbacks:
            callback(*args, **kwargs)
