"""The output of contracts of a devnet by `console.log`: the last of it, for failing tests."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.chain.events import BlockSealed, Event
from entresol.terminal.console_log import console_lines

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.execution.console import ConsoleCalls

MAX_RECORDED: Final = 1_000
MAX_BYTES: Final = 4 << 20
"""The limit of what is remembered; older calls are dropped."""


class RecordedConsole(NamedTuple):
    """The calls of one execution."""

    layer: str
    origin: str
    """The RPC method that executed it, or `transaction`."""
    calls: ConsoleCalls

    def lines(self) -> list[str]:
        """Return what it printed."""
        return [f"[{self.layer} {self.origin}] {line}" for line in console_lines(self.calls)]


class ConsoleRecorder:
    """Records what transactions, calls and estimates print, and decodes it on request."""

    def __init__(self) -> None:
        self._recorded: deque[RecordedConsole] = deque(maxlen=MAX_RECORDED)
        self._bytes = 0
        self.total = 0
        """Executions that have printed something so far; a position for `since`."""

    def record(self, layer: str, origin: str, calls: ConsoleCalls) -> None:
        """Record the calls of an execution, on any thread."""
        while self._recorded and (
            len(self._recorded) == MAX_RECORDED or self._bytes + calls.size > MAX_BYTES
        ):
            self._bytes -= self._recorded.popleft().calls.size
        self._recorded.append(RecordedConsole(layer, origin, calls))
        self._bytes += calls.size
        self.total += 1

    def since(self, position: int) -> list[str]:
        """Return the lines that were printed since `total` was `position`, as far as they are remembered."""
        return self.between(range(position, self.total))

    def between(self, positions: range) -> list[str]:
        """Return the lines that were printed from one position to another, as far as they are remembered."""
        recorded = list(self._recorded)
        dropped = self.total - len(recorded)
        first, last = (max(0, position - dropped) for position in (positions.start, positions.stop))
        return [line for calls in recorded[first:last] for line in calls.lines()]

    def follow(self, chain: Chain, layer: str) -> None:
        """Record what the transactions of a chain print."""

        def on_event(event: Event) -> None:
            if isinstance(event, BlockSealed):
                for calls in event.console.values():
                    self.record(layer, "transaction", calls)

        chain.events.listen(on_event, BlockSealed)
