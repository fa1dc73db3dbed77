"""The threads that work on a chain for its API."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.chain_use import ChainUse

_P = ParamSpec("_P")
_T = TypeVar("_T")


class ChainThreads(Executor):
    """Runs work on the threads of `executor`, such that a replacement of the chain can wait for it.

    Remembers: nothing; `ChainUse` does. Fails: with `ChainReplaced` for work that did not end before the chain was
    reverted or replaced, since what it reads is of another chain.
    """

    def __init__(self, executor: Executor, use: ChainUse) -> None:
        self._executor = executor
        self._use = use

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Run `fn` on a thread."""
        use = self._use
        work = use.guarded(partial(fn, *args, **kwargs))
        use.begin()
        try:
            future = self._executor.submit(work)
        except BaseException:
            use.end()
            raise
        # Also if it is cancelled before it runs.
        future.add_done_callback(lambda _: use.end())
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - its interface
        """Shut the threads down."""
        self._executor.shutdown(wait, cancel_futures=cancel_futures)
