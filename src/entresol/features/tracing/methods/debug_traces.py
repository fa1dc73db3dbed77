"""`debug_trace…`: sealed transactions, traced again, and calls that are traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from entresol._native import TraceWriter, keccak256, rlp_decode, rlp_encode
from entresol.errors import (
    BlockNotFound,
    DeadlinePassed,
    InvalidOverride,
    InvalidParams,
    InvalidTransaction,
    MalformedValue,
    NotInspectable,
    TraceTooLarge,
    TransactionNotFound,
    UnknownTracer,
)
from entresol.execution.evm_env import EvmEnv
from entresol.execution.overrides import override
from entresol.execution.tracing import CallSequence, trace_block, trace_call, trace_transaction
from entresol.features.tracing.trace_models import TracerResult, TransactionTraceResult
from entresol.offload import Offload
from entresol.primitives.values import Data, Hash32
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.types.block_id import LATEST, BlockHash, BlockId, BlockNumber, TransactionHash
from entresol.rpc.types.call_request import CallObject
from entresol.rpc.types.simulation_request import CallBundle, StateContext, state_overrides
from entresol.rpc.types.trace_request import TraceCallConfig, TraceConfig

if TYPE_CHECKING:
    from entresol.execution.tracing import TraceBudget
    from entresol.rpc.services.call_runner import CallRunner
    from entresol.rpc.services.trace_runner import TraceRunner


_OF_TRANSACTION: Final = (TransactionNotFound, UnknownTracer, TraceTooLarge, DeadlinePassed)
_OF_BLOCK: Final = (BlockNotFound, NotInspectable, UnknownTracer, TraceTooLarge)
_OF_CALL: Final = (*_OF_BLOCK, InvalidOverride, InvalidTransaction, DeadlinePassed)
_OF_CALLS: Final = (BlockNotFound, NotInspectable, UnknownTracer, InvalidOverride, InvalidParams)
_EMPTY_TRACE: Final = b'{"failed":false,"gas":0,"returnValue":"0x","structLogs":[]}'


class DebugTraces:
    """Traces of sealed transactions, of every type."""

    prefix = "debug"

    def __init__(self, traces: TraceRunner) -> None:
        self._traces = traces

    @method(*_OF_TRANSACTION, served_by=ServedBy.REPLICA, past=Past.REPLAY)
    def trace_transaction(
        self, hash: TransactionHash, config: TraceConfig | None = None
    ) -> Offload[Annotated[TraceWriter, TracerResult]]:
        """Execute a sealed transaction again, and return its trace.

        The zero hash has the empty trace that anvil has for it: titanoboa probes so for traces.
        """
        wanted = config or TraceConfig()
        options = wanted.options()
        if hash == Hash32.zero():
            return self._traces.run(lambda budget: budget.writer.write(_EMPTY_TRACE))
        block, index = self._traces.transaction(hash)

        def work(budget: TraceBudget) -> None:
            budget.writer.write_trace(trace_transaction(block, index, options, budget))

        return self._traces.run(work, wanted.timeout)

    @method(*_OF_BLOCK, served_by=ServedBy.BLOCK, past=Past.REPLAY)
    def trace_block_by_number(
        self, block: BlockNumber, config: TraceConfig | None = None
    ) -> Offload[Annotated[TraceWriter, list[TransactionTraceResult]]]:
        """Return the traces of all transactions of a block, by number or tag."""
        return self._trace_block(self._traces.number(block), config)

    @method(*_OF_BLOCK, served_by=ServedBy.REPLICA, past=Past.REPLAY)
    def trace_block_by_hash(
        self, hash: BlockHash, config: TraceConfig | None = None
    ) -> Offload[Annotated[TraceWriter, list[TransactionTraceResult]]]:
        """Return the traces of all transactions of a block, by hash."""
        return self._trace_block(self._traces.number(BlockId(block_hash=hash)), config)

    @method(*_OF_BLOCK, served_by=ServedBy.REPLICA, past=Past.LOCAL)
    def trace_block(
        self, block: Data, config: TraceConfig | None = None
    ) -> Offload[Annotated[TraceWriter, list[TransactionTraceResult]]]:
        """Return the traces of all transactions of a block of this chain, by its RLP."""
        named = BlockId(block_hash=_hash_of(bytes(block)))
        return self._trace_block(self._traces.number(named), config)

    def _trace_block(self, number: int, config: TraceConfig | None) -> Offload[TraceWriter]:
        wanted = config or TraceConfig()
        options, block = wanted.options(), self._traces.block(number)

        def work(budget: TraceBudget) -> None:
            writer = budget.writer
            writer.write(b"[")
            for traced in trace_block(block, options, budget):
                head = b',{"txHash":"%b",' if traced.position else b'{"txHash":"%b",'
                writer.write(head % str(traced.hash).encode())
                if isinstance(traced.outcome, DeadlinePassed):
                    writer.write(b'"error":%b}' % encode(str(traced.outcome)))
                else:
                    writer.write(b'"result":')
                    writer.write_trace(traced.outcome)
                    writer.write(b"}")
            writer.write(b"]")

        return self._traces.run(work, wanted.timeout)


def _hash_of(block: bytes) -> Hash32:
    decoded = rlp_decode(block)
    if not isinstance(decoded, list) or not decoded or not isinstance(decoded[0], list):
        raise MalformedValue("a block is a list of a header, transactions and uncles, in RLP")
    return Hash32(keccak256(rlp_encode(decoded[0])))


class DebugCallTraces:
    """Traces of calls on the states of sealed blocks."""

    prefix = "debug"

    def __init__(self, traces: TraceRunner, runner: CallRunner) -> None:
        self._traces = traces
        self._runner = runner

    @method(*_OF_CALL, served_by=ServedBy.BLOCK, past=Past.EXECUTE)
    def trace_call(
        self,
        transaction: CallObject,
        block: BlockId = LATEST,
        config: TraceCallConfig | None = None,
    ) -> Offload[Annotated[TraceWriter, TracerResult]]:
        """Return the trace of a call on the state after a block, or before its transaction `txIndex`."""
        wanted = config or TraceCallConfig()
        options = wanted.options()
        self._check(transaction, wanted)
        index = None if wanted.tx_index is None else int(wanted.tx_index)
        evm_env = self._traces.env(block, index)

        def work(budget: TraceBudget) -> None:
            env = _overridden(evm_env(), wanted)
            cap = self._runner.gas_cap
            ran = trace_call(env, transaction.request(), options, budget, cap)
            budget.writer.write_trace(ran)

        return self._traces.run(work, wanted.timeout)

    @method(*_OF_CALLS, served_by=ServedBy.BLOCK, past=Past.EXECUTE)
    def trace_call_many(
        self,
        bundles: list[CallBundle],
        state_context: StateContext | None = None,
        config: TraceCallConfig | None = None,
    ) -> Offload[Annotated[TraceWriter, list[list[TracerResult]]]]:
        """Return the traces of bundles of calls; each call runs on the state that the one before it left."""
        wanted, context = config or TraceCallConfig(), state_context or StateContext()
        options, index = wanted.options(), context.transaction_index
        self._runner.check_calls(sum(len(bundle.transactions) for bundle in bundles))
        self._runner.check_block_overrides(*(bundle.block_override for bundle in bundles))
        for bundle in bundles:
            for call in bundle.transactions:
                self._check(call, wanted)
        count = None if index is None else index.count
        evm_env = self._traces.env(context.block_number or LATEST, count)

        def work(budget: TraceBudget) -> None:
            env = _overridden(evm_env(), wanted)
            calls = CallSequence(env, budget, self._runner.gas_cap)
            _write_bundles(calls, bundles, options, budget)

        return self._traces.run(work, wanted.timeout)

    def _check(self, call: CallObject, config: TraceCallConfig) -> None:
        self._runner.check_lists(call)
        self._runner.check_overrides(config.state_overrides)
        self._runner.check_block_overrides(config.block_overrides)


def _write_bundles(
    calls: CallSequence, bundles: list[CallBundle], options: bytes, budget: TraceBudget
) -> None:
    writer = budget.writer
    writer.write(b"[")
    for position, bundle in enumerate(bundles):
        writer.write(b",[" if position else b"[")
        block = bundle.block_override
        env = override(calls.env, block=None if block is None else block.override())
        for index, call in enumerate(bundle.transactions):
            writer.write(b"," if index else b"")
            writer.write_trace(calls.trace(call.request(), options, env))
        writer.write(b"]")
    writer.write(b"]")


def _overridden(evm_env: EvmEnv, config: TraceCallConfig) -> EvmEnv:
    block = config.block_overrides
    return override(
        evm_env,
        state_overrides(config.state_overrides),
        None if block is None else block.override(),
    )
