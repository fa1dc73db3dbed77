"""Errors of the execution engine: failures, panics and limits of the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors.base import INTERNAL, EntresolError

if TYPE_CHECKING:
    from typing import Any


class EngineError(EntresolError):
    """The engine could not complete an execution; its result is unknown."""

    rpc_code = INTERNAL


class StateUnavailable(EngineError):
    """The state provider failed; the cause is chained."""


class StateMissing(EngineError):
    """A value of the remote chain below a fork is not known yet; nothing has changed.

    What may wait asks `table`, an `entresol._native.RemoteTable`, for `keys` and tries again. (Errors import nothing
    of the crate, whose exceptions they are.)
    """

    def __init__(self, table: Any, keys: tuple[Any, ...]) -> None:
        super().__init__("a value of the remote chain is not known yet")
        self.table = table
        self.keys = keys


class EnginePanicked(EngineError):
    """A bug in the engine; the state is unchanged."""


class ExecutionStopped(EngineError):
    """A limit of the caller stopped the execution."""

    # Not -32603 or -32005: clients would try again at once and meet the same limit.
    rpc_code = -32000


class GasBudgetSpent(ExecutionStopped):
    """The execution exceeded the caller's gas budget."""

    def __init__(self, text: str = "the gas budget is spent") -> None:
        super().__init__(text)


class DeadlinePassed(ExecutionStopped):
    """The execution exceeded the caller's time limit."""

    def __init__(self, text: str = "the execution took too long") -> None:
        super().__init__(text)


class ExecutionCancelled(ExecutionStopped):
    """The caller cancelled the execution."""

    def __init__(self, text: str = "the execution was cancelled") -> None:
        super().__init__(text)


class TraceTooLarge(ExecutionStopped):
    """The trace exceeded the caller's memory limit."""
