"""Work on a chain that leaves the event loop, or spans several turns of it, and must not outlive the chain's blocks."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from entresol.errors import ChainReplaced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_T = TypeVar("_T")


class ChainUse:
    """The users of the blocks of a chain at the moment, so that what removes them can wait; for any thread.

    Work that began before blocks were removed may have read some of both chains. So whatever it returns or raises,
    `ChainReplaced` takes its place.
    """

    def __init__(self) -> None:
        self.removals = 0
        """How often blocks were removed: reverted, or replaced by those of another chain."""
        self._running = 0
        self._lock = Lock()
        self._on_idle: list[Callable[[], object]] = []

    @property
    def is_idle(self) -> bool:
        """Whether nothing uses the chain."""
        return not self._running

    def on_removed(self) -> None:
        """Note that blocks were removed."""
        self.removals += 1

    def begin(self) -> None:
        """Note that work begins; `end` has to follow."""
        with self._lock:
            self._running += 1

    def end(self) -> None:
        """Note that work has ended."""
        with self._lock:
            self._running -= 1
            called, self._on_idle = (self._on_idle, []) if self.is_idle else ([], self._on_idle)
        for callback in called:
            callback()

    def when_idle(self, callback: Callable[[], object]) -> None:
        """Call `callback` once nothing uses the chain, on the thread of what ended last; at once if nothing does."""
        with self._lock:
            if self._running:
                self._on_idle.append(callback)
                return
        callback()

    @contextmanager
    def guard(self, removals: int) -> Iterator[None]:
        """Raise `ChainReplaced` if blocks were removed since there were so many removals, whatever else is raised."""
        self.check(removals)
        try:
            yield
        except Exception:
            self.check(removals)
            raise
        self.check(removals)

    def guarded(self, work: Callable[[], _T]) -> Callable[[], _T]:
        """Return `work` that raises `ChainReplaced` if blocks are removed from now until it ends."""
        removals = self.removals

        def run() -> _T:
            with self.guard(removals):
                return work()

        return run

    @contextmanager
    def held(self) -> Iterator[None]:
        """Use the chain meanwhile; raise `ChainReplaced` if blocks were removed all the same."""
        removals = self.removals
        self.begin()
        try:
            with self.guard(removals):
                yield
        finally:
            self.end()

    def check(self, removals: int) -> None:
        """Raise `ChainReplaced` if blocks were removed since there were so many removals."""
        if self.removals != removals:
            raise ChainReplaced
