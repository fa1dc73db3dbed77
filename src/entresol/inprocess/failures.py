"""The executions of a devnet that have failed: calls of clients in this process, and transactions of any client."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from entresol.chain.events import BlockSealed, Event
from entresol.errors import ExecutionFailed, ExecutionReverted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from entresol.chain.chain import Chain
    from entresol.execution.console import ConsoleCalls
    from entresol.inprocess.shell import ConsoleRecorder

MAX_RECORDED: Final = 50
"""Failures that are remembered; older ones are dropped."""


class FailedRequest(NamedTuple):
    """A request that a client in this process got an error for."""

    layer: str
    method: str
    params: Any
    error: Mapping[str, Any]
    """The error as the response has it: `code`, `message` and perhaps `data`."""
    console: range
    """Where `ConsoleRecorder` has what it printed; of several threads, also what others printed meanwhile."""


class FailedTransaction(NamedTuple):
    """A transaction that has failed in its block."""

    layer: str
    block: int
    position: int
    """Its index in the block."""
    failure: ExecutionFailed
    console: ConsoleCalls | None

    @property
    def data(self) -> bytes:
        """The data it has reverted with; empty if it has halted."""
        return self.failure.data if isinstance(self.failure, ExecutionReverted) else b""


class LayerRecords(NamedTuple):
    """The records of the clients of a layer, and its name and address for people."""

    layer: str
    title: str
    console: ConsoleRecorder
    failures: FailureRecorder

    def fail(self, method: str, params: Any, error: Mapping[str, Any], position: int) -> None:
        """Record that a request has failed, which began when `console.total` was `position`."""
        printed = range(position, self.console.total)
        self.failures.record(FailedRequest(self.layer, method, params, error, printed))


class FailureRecorder:
    """Records the last failures, so that the report of a test can explain them.

    Remembers: failed requests and transactions, up to a number. Assumes: that the threads of clients may record requests,
    and that of the node transactions.
    """

    def __init__(self) -> None:
        self._requests: deque[FailedRequest] = deque(maxlen=MAX_RECORDED)
        self._transactions: deque[FailedTransaction] = deque(maxlen=MAX_RECORDED)
        self.total = 0
        """Transactions that have failed so far; a position for `transactions_since`."""

    def record(self, failed: FailedRequest) -> None:
        """Record a failed request."""
        self._requests.append(failed)

    def follow(self, chain: Chain, layer: str) -> None:
        """Record the failed transactions of a chain."""

        def on_event(event: Event) -> None:
            if isinstance(event, BlockSealed):
                for index, failure in event.failures.items():
                    console = event.console.get(index)
                    found = FailedTransaction(layer, event.number, index, failure, console)
                    self._transactions.append(found)
                    self.total += 1

        chain.events.listen(on_event, BlockSealed)

    def requests(self) -> list[FailedRequest]:
        """Return the requests that are remembered, the newest first."""
        return list(self._requests)[::-1]

    def transactions_since(self, position: int) -> list[FailedTransaction]:
        """Return the transactions since `total` was `position`, as far as they are remembered."""
        recorded = list(self._transactions)
        return recorded[max(0, len(recorded) - (self.total - position)) :]
