"""The threads that work on a chain for its API."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from entresol.errors import ChainReplaced, StateMissing
from entresol.state_missing import fork_threads, waiting

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.chain_use import ChainUse

_P = ParamSpec("_P")
_T = TypeVar("_T")


class ChainThreads(Executor):
    """Runs work on the threads of `executor`, such that a replacement of the chain can wait for it.

    If the chain `is_fork`, work that needs values of the remote begins again on a thread that waits for them.
    Remembers: nothing; `ChainUse` does. Assumes: work that raises `StateMissing` has changed nothing. Fails: with
    `ChainReplaced` for work that did not end before the chain was reverted or replaced, since what it reads is of
    another chain.
    """

    def __init__(self, executor: Executor, use: ChainUse, *, is_fork: bool = False) -> None:
        self._executor = executor
        self._use = use
        self._submit = self._submit_on_fork if is_fork else executor.submit

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Run `fn` on a thread."""
        use = self._use
        work = use.guarded(partial(fn, *args, **kwargs))
        use.begin()
        try:
            future: Future[_T] = self._submit(work)
        except BaseException:
            use.end()
            raise
        # Also if it is cancelled before it runs.
        future.add_done_callback(lambda _: use.end())
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - its interface
        """Shut the threads down."""
        self._executor.shutdown(wait, cancel_futures=cancel_futures)

    def _submit_on_fork(self, work: Callable[[], _T]) -> Future[_T]:
        ended: Future[_T] = Future()

        def on_tried(tried: Future[_T]) -> None:
            if not tried.cancelled() and isinstance(tried.exception(), StateMissing):
                fork_threads().submit(waiting(work)).add_done_callback(partial(_copy, ended))
            else:
                _copy(ended, tried)

        self._executor.submit(work).add_done_callback(on_tried)
        return ended


def _copy(ended: Future[_T], source: Future[_T]) -> None:
    """End a future as another one has, unless it was cancelled."""
    if not ended.set_running_or_notify_cancel():
        return
    error = ChainReplaced() if source.cancelled() else source.exception()
    if error is None:
        ended.set_result(source.result())
    else:
        ended.set_exception(error)
