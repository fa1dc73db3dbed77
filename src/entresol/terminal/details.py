"""What the log says of a transaction, by known ABIs and as far as the verbosity wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.contracts.abi_registry import AbiRegistry
from entresol.errors import ExecutionReverted
from entresol.terminal.call_tree import describe_error, describe_event
from entresol.terminal.console_log import console_lines

if TYPE_CHECKING:
    from entresol.errors import ExecutionFailed
    from entresol.execution.console import ConsoleCalls
    from entresol.primitives.records import TransactionResult

CALLS: Final = 1
EVENTS: Final = 2
FAILED_TRACES: Final = 3
TRACES: Final = 4
"""The verbosity from which on each is shown."""

MAX_EVENTS: Final = 100
"""Events that are shown of one transaction."""


class LogDetails:
    """Describes transactions by known ABIs, as far as the verbosity wants it."""

    def __init__(
        self, abis: AbiRegistry, verbosity: int = 0, *, shows_console: bool = True
    ) -> None:
        self.abis = abis
        self._verbosity = verbosity
        self._shows_console = shows_console

    def by(self, abis: AbiRegistry) -> LogDetails:
        """Return the same details, by other ABIs."""
        return LogDetails(abis, self._verbosity, shows_console=self._shows_console)

    @property
    def is_brief(self) -> bool:
        """Whether nothing is decoded by an ABI, or traced, of a transaction that succeeds."""
        return self._verbosity < CALLS

    def call(self, data: bytes) -> str | None:
        """Return the decoded call of a transaction, or None if it is not shown."""
        return self.abis.call(data) if data and self._verbosity >= CALLS else None

    def events(self, result: TransactionResult) -> list[str]:
        """Return the logs of a transaction, decoded as far as they are known; a call tree has them, too."""
        if not EVENTS <= self._verbosity < TRACES:
            return []
        logs = result.logs[:MAX_EVENTS]
        lines = [describe_event(self.abis, list(topics), data) for _, topics, data in logs]
        more = len(result.logs) - len(logs)
        return [*lines, f"… ({more:,} more events are not shown)"] if more else lines

    def failure(self, failure: ExecutionFailed | None) -> str | None:
        """Return why a transaction failed, custom errors by name if they are known."""
        if isinstance(failure, ExecutionReverted):
            reason = describe_error(self.abis, failure.data)
            return f"execution reverted: {reason}" if reason else str(failure)
        return None if failure is None else str(failure)

    def console(self, calls: ConsoleCalls | None) -> list[str]:
        """Return the lines that an execution printed by `console.log`."""
        return console_lines(calls) if calls is not None and self._shows_console else []

    def wants_trace(self, *, succeeded: bool) -> bool:
        """Return whether the call tree of a transaction is shown."""
        return self._verbosity >= (TRACES if succeeded else FAILED_TRACES)
