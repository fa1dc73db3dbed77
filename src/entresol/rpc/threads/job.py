"""Work on a thread that can be cancelled while it runs."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from entresol._native import CancelFlag
from entresol.errors import ExecutionCancelled

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_thread: Final = threading.local()


class Job(Generic[T]):
    """Work for a client. The flag cancels the executions that it starts, and what runs cooperatively."""

    __slots__ = ("_work", "ends_with_client", "flag", "future")

    def __init__(self, work: Callable[[], T], *, ends_with_client: bool) -> None:
        self._work = work
        self.future: Future[T] = Future()
        self.flag = CancelFlag()
        self.ends_with_client = ends_with_client
        """Whether nobody needs it once its client is gone."""

    def run(self) -> None:
        """Do the work, unless it was cancelled before."""
        if not self.future.set_running_or_notify_cancel():
            return
        _thread.flag = self.flag
        try:
            with self.flag:
                result = self._work()
        except BaseException as error:  # noqa: BLE001 - raised where the work is awaited
            self.future.set_exception(error)
            # The frames of the error lead back here, and from here to the error.
            del self
        else:
            self.future.set_result(result)
        finally:
            _thread.flag = None

    def reject(self, error: Exception | None = None) -> None:
        """End work that has not begun, with an error or because its client is gone."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(error or ExecutionCancelled("the client is gone"))


def check_cancelled() -> None:
    """Raise `ExecutionCancelled` if the work on this thread was cancelled."""
    flag: CancelFlag | None = getattr(_thread, "flag", None)
    if flag is not None and flag.is_set:
        raise ExecutionCancelled("the client is gone")
