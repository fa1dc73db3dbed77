"""`trace_call…`, `trace_rawTransaction` and `trace_replay…`: frames, state differences and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from entresol._native import Tracer, TraceWriter, execute
from entresol.errors import (
    BlockNotFound,
    DeadlinePassed,
    GenesisNotTraceable,
    InvalidTransaction,
    PendingNotTraceable,
    TooManyCalls,
    TraceTooLarge,
    TransactionNotFound,
)
from entresol.execution.account_senders import has_code
from entresol.execution.evm_env import tx_env_of
from entresol.execution.trace.block_trace import trace_block, trace_transaction
from entresol.execution.trace.call_trace import CallSequence, trace_call
from entresol.offload import Offload
from entresol.primitives.transactions import decode
from entresol.primitives.values import Data
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.models.traces import ReplayedTransaction, TraceResults
from entresol.rpc.types.block_id import LATEST, BlockId, TransactionHash
from entresol.rpc.types.call_request import CallObject
from entresol.rpc.types.trace_request import TracedCall, TraceType, replay_options

if TYPE_CHECKING:
    from entresol.execution.trace.budget import TraceBudget
    from entresol.rpc.services.call_runner import CallRunner
    from entresol.rpc.services.trace_runner import TraceRunner


class TraceReplays:
    """Results with the types of traces that a request lists."""

    prefix = "trace"

    def __init__(self, traces: TraceRunner, runner: CallRunner) -> None:
        self._traces = traces
        self._runner = runner

    @method(
        BlockNotFound,
        PendingNotTraceable,
        InvalidTransaction,
        TraceTooLarge,
        DeadlinePassed,
        served_by=ServedBy.BLOCK,
        past=Past.EXECUTE,
    )
    def call(
        self, transaction: CallObject, types: list[TraceType], block: BlockId = LATEST
    ) -> Offload[Annotated[TraceWriter, TraceResults]]:
        """Return the traces of a call on the state after a block."""
        self._runner.check_lists(transaction)
        options, evm_env = replay_options(types), self._traces.env(block)

        def work(budget: TraceBudget) -> None:
            cap = self._runner.gas_cap
            ran = trace_call(evm_env(), transaction.request(), options, budget, cap)
            budget.writer.write_trace(ran)

        return self._traces.run(work)

    @method(
        BlockNotFound,
        PendingNotTraceable,
        InvalidTransaction,
        TooManyCalls,
        TraceTooLarge,
        served_by=ServedBy.BLOCK,
        past=Past.EXECUTE,
    )
    def call_many(
        self, calls: list[TracedCall], block: BlockId = LATEST
    ) -> Offload[Annotated[TraceWriter, list[TraceResults]]]:
        """Return the traces of calls; each runs on the state that the one before it left."""
        self._runner.check_calls(len(calls))
        for it in calls:
            self._runner.check_lists(it.call)
        evm_env = self._traces.env(block)

        def work(budget: TraceBudget) -> None:
            sequence = CallSequence(evm_env(), budget, self._runner.gas_cap)
            writer = budget.writer
            writer.write(b"[")
            for index, it in enumerate(calls):
                writer.write(b"," if index else b"")
                writer.write_trace(sequence.trace(it.call.request(), replay_options(it.types)))
            writer.write(b"]")

        return self._traces.run(work)

    @method(
        BlockNotFound,
        PendingNotTraceable,
        InvalidTransaction,
        TraceTooLarge,
        DeadlinePassed,
        served_by=ServedBy.BLOCK,
        past=Past.EXECUTE,
    )
    def raw_transaction(
        self, data: Data, types: list[TraceType], block: BlockId = LATEST
    ) -> Offload[Annotated[TraceWriter, TraceResults]]:
        """Return the traces of a signed transaction on the state after a block, without sending it."""
        transaction = decode(bytes(data))
        tracer, evm_env = Tracer(replay_options(types)), self._traces.env(block)

        def work(budget: TraceBudget) -> None:
            env, tx_env = evm_env(), tx_env_of(transaction)
            error = transaction.signature_error
            if error is not None and not has_code(env.state, transaction.sender):
                raise error
            try:
                ran = execute(
                    env.state,
                    env.rules,
                    env.block.native,
                    tx_env,
                    limits=budget.left(),
                    tracer=tracer,
                )
            except TraceTooLarge:
                raise budget.too_large() from None
            budget.writer.write_trace(ran)

        return self._traces.run(work)

    @method(
        TransactionNotFound,
        TraceTooLarge,
        DeadlinePassed,
        served_by=ServedBy.REPLICA,
        past=Past.REPLAY,
    )
    def replay_transaction(
        self, hash: TransactionHash, types: list[TraceType]
    ) -> Offload[Annotated[TraceWriter, TraceResults]]:
        """Execute a sealed transaction again, and return its traces."""
        block, index = self._traces.transaction(hash)
        options = replay_options(types)

        def work(budget: TraceBudget) -> None:
            budget.writer.write_trace(trace_transaction(block, index, options, budget))

        return self._traces.run(work)

    @method(
        BlockNotFound,
        GenesisNotTraceable,
        TraceTooLarge,
        DeadlinePassed,
        served_by=ServedBy.BLOCK,
        past=Past.REPLAY,
    )
    def replay_block_transactions(
        self, block: BlockId, types: list[TraceType]
    ) -> Offload[Annotated[TraceWriter, list[ReplayedTransaction]]]:
        """Execute the transactions of a block again, and return the traces of each."""
        sealed = self._traces.block(self._traces.number(block))
        options = replay_options(types)

        def work(budget: TraceBudget) -> None:
            writer = budget.writer
            writer.write(b"[")
            for traced in trace_block(sealed, options, budget):
                if isinstance(traced.outcome, DeadlinePassed):
                    raise traced.outcome
                writer.write(b",{" if traced.position else b"{")
                writer.write_items(traced.outcome)
                writer.write(b',"transactionHash":"%b"}' % str(traced.hash).encode())
            writer.write(b"]")

        return self._traces.run(work)
