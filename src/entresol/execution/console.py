"""Calls of `console.log` that an execution made, as data; `terminal/console_log.py` decodes and formats them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeAlias, TypeVar

from entresol.errors import GasBudgetSpent, StateMissing

if TYPE_CHECKING:
    from entresol._native import ExecutionResult
    from entresol.execution.limits import CallLimits

T = TypeVar("T")

MAX_BLOCK_CALLS: Final = 2_000
MAX_BLOCK_BYTES: Final = 256 << 10
"""Calls and bytes that are recorded of a block, beside the engine's limits for each transaction.

They are formatted on the event loop, at a few microseconds a call.
"""


class ConsoleCalls(NamedTuple):
    """The data of each call, in order, and how many further calls the engine did not record."""

    recorded: tuple[bytes, ...] = ()
    dropped: int = 0

    @classmethod
    def of(cls, result: ExecutionResult) -> Self:
        """Return the calls of an execution, those of failed frames too."""
        return cls(result.console_calls, result.console_calls_dropped)

    @property
    def size(self) -> int:
        """How many bytes they take."""
        return sum(map(len, self.recorded))


NO_CALLS: Final = ConsoleCalls()


class BlockConsole:
    """The calls of a block by transaction, up to a size; those beyond it are only counted."""

    def __init__(self) -> None:
        self.calls: dict[int, ConsoleCalls] = {}
        self._calls_left = MAX_BLOCK_CALLS
        self._bytes_left = MAX_BLOCK_BYTES

    def record(self, index: int, result: ExecutionResult) -> None:
        """Record the calls of the transaction at `index`."""
        calls = ConsoleCalls.of(result)
        if calls == NO_CALLS:
            return
        if calls.size > self._bytes_left or len(calls.recorded) > self._calls_left:
            calls = ConsoleCalls((), calls.dropped + len(calls.recorded))
        self._calls_left -= len(calls.recorded)
        self._bytes_left -= calls.size
        self.calls[index] = calls


ReportConsole: TypeAlias = Callable[[str, ConsoleCalls], None]
"""Called with the name of an RPC method and what its execution logged, on any thread."""


class ConsoleCapture:
    """Receives what a request logs, and reports it once, however many runs the request takes."""

    def __init__(self, method: str, report: ReportConsole) -> None:
        self.calls = NO_CALLS
        self._method = method
        self._report = report

    def record(self, recorded: tuple[bytes, ...], dropped: int) -> None:
        """Record the calls of an execution instead of any before."""
        self.calls = ConsoleCalls(recorded, dropped)

    def reporting(self, run: Callable[[CallLimits], T]) -> Callable[[CallLimits], T]:
        """Return `run` so that it reports at its end, whether it succeeds or fails."""

        def reported(limits: CallLimits) -> T:
            self.calls = NO_CALLS
            try:
                result = run(limits)
            except (GasBudgetSpent, StateMissing):
                # It starts over on a thread.
                raise
            except BaseException:
                self._finish()
                raise
            self._finish()
            return result

        return reported

    def _finish(self) -> None:
        if self.calls != NO_CALLS:
            self._report(self._method, self.calls)
