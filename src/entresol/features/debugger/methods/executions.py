"""Executions step by step, beside their sources: what a debugger shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import DeadlinePassed, MalformedValue, TraceTooLarge, TransactionNotFound
from entresol.features.debugger.errors import StepNotRecorded
from entresol.features.debugger.execution_json import (
    executed_step,
    executed_step_state,
    execution_overview,
)
from entresol.features.debugger.models.execution_steps import (
    ExecutedStepState,
    ExecutionOverview,
    StepPage,
)
from entresol.offload import Offload
from entresol.rpc.jsonrpc.method import Past, method
from entresol.rpc.types.block_id import TransactionHash
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.features.debugger.recorded_executions import Executions

MAX_PAGE: Final = 2_500
"""Steps of a page."""


class EntresolExecutions:
    """`entresol_` methods that show a sealed transaction's execution step by step."""

    prefix = "entresol"

    def __init__(self, executions: Executions) -> None:
        self._executions = executions

    @method(TransactionNotFound, TraceTooLarge, DeadlinePassed, past=Past.REPLAY)
    def get_execution(self, hash: TransactionHash) -> Offload[ExecutionOverview]:
        """Return an overview of a sealed transaction's execution for a debugger: its frames, sources and gas by line.

        The transaction is executed again on the state of its block, and recorded; the last recordings are kept. Without
        sources the frames have no contracts, and steps no lines. Numbers of steps, frames and sources start at zero.
        """
        execution = self._executions.of_transaction(hash)
        return Offload(lambda: execution_overview(*execution()))

    @method(TransactionNotFound, StepNotRecorded, TraceTooLarge, DeadlinePassed, past=Past.REPLAY)
    def get_execution_steps(
        self, hash: TransactionHash, from_: Number, count: Number
    ) -> Offload[StepPage]:
        """Return up to 2,500 steps of a sealed transaction's execution.

        There are fewer at the end, and before steps of a long execution that are not recorded.
        """
        if not 1 <= count <= MAX_PAGE:
            raise MalformedValue(f"count is from 1 to {MAX_PAGE:,}, got {count:d}")
        execution = self._executions.of_transaction(hash)

        def work() -> StepPage:
            recording = execution().recording
            found = recording.known_range(from_)
            start = from_ - found.first
            steps = found.steps[start : start + count]
            return StepPage(from_=int(from_), steps=[executed_step(step) for step in steps])

        return Offload(work)

    @method(TransactionNotFound, StepNotRecorded, TraceTooLarge, DeadlinePassed, past=Past.REPLAY)
    def get_execution_step(self, hash: TransactionHash, step: Number) -> Offload[ExecutedStepState]:
        """Return a step of a sealed transaction's execution with stack, memory, storage and variables before it.

        A value that is not certain is null: that of a variable if an optimizer ran, that of memory if not all steps of
        the frame are recorded.
        """
        execution = self._executions.of_transaction(hash)
        return Offload(lambda: executed_step_state(execution().recording, step))
