"""`trace_` methods, as OpenEthereum and reth have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Raw

from entresol._native import Tracer, TraceWriter, execute, has_code
from entresol.chain.finality import BlockTag
from entresol.errors import (
    BlockNotFound,
    DeadlinePassed,
    InvalidParams,
    InvalidTransaction,
    NotInspectable,
    TraceTooLarge,
    TransactionNotFound,
)
from entresol.execution.evm_env import tx_env_of
from entresol.execution.tracing import CallSequence, trace_block, trace_call, trace_transaction
from entresol.features.tracing.trace_models import ReplayedTransaction, SealedFrame, TraceResults
from entresol.offload import Offload
from entresol.primitives.transactions import decode
from entresol.primitives.values import Data, Hash32
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.block_id import LATEST, BlockId, BlockNumber, TransactionHash
from entresol.rpc.types.call_request import CallObject
from entresol.rpc.types.number import Number
from entresol.rpc.types.trace_request import (
    TracedCall,
    TraceFilterObject,
    TraceType,
    check_range,
    frame_options,
    replay_options,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from entresol._native import ExecutionResult
    from entresol.execution.tracing import SealedBlock, TraceBudget
    from entresol.rpc.services.call_runner import CallRunner
    from entresol.rpc.services.trace_runner import TraceRunner


_TOO_MUCH: Final = (TraceTooLarge, DeadlinePassed)
_OF_CALL: Final = (BlockNotFound, NotInspectable, InvalidTransaction, TraceTooLarge)
_ALL: Final = frame_options()
_EARLIEST: Final = BlockNumber.parse(str(BlockTag.EARLIEST))
_LATEST: Final = BlockNumber.parse(str(BlockTag.LATEST))


class _Frame(msgspec.Struct, rename="camel"):
    trace_address: list[int]


_frames: Final = msgspec.json.Decoder(list[Raw]).decode
_frame: Final = msgspec.json.Decoder(_Frame).decode


class TraceFrames:
    """Frames of sealed transactions; calls of precompiles are left out."""

    prefix = "trace"

    def __init__(self, traces: TraceRunner) -> None:
        self._traces = traces

    @method(TraceTooLarge, served_by=ServedBy.REPLICA, past=Past.REPLAY)
    def transaction(
        self, hash: TransactionHash
    ) -> (
        Offload[Annotated[TraceWriter, list[SealedFrame]]] | Annotated[list[Raw], list[SealedFrame]]
    ):
        """Return the frames of a transaction; none if there is no such transaction."""
        try:
            block, index = self._traces.transaction(hash)
        except TransactionNotFound:
            return []

        def work(budget: TraceBudget) -> None:
            budget.writer.write_trace(trace_transaction(block, index, _ALL, budget))

        return self._traces.run(work)

    @method(BlockNotFound, TraceTooLarge, served_by=ServedBy.BLOCK, past=Past.REPLAY)
    def block(self, block: BlockId) -> Offload[Annotated[TraceWriter, list[SealedFrame]]]:
        """Return the frames of all transactions of a block."""
        blocks = list(self._sealed([self._traces.number(block)]))
        return self._traces.run(lambda budget: self._write(budget, blocks, _ALL))

    @method(TransactionNotFound, short=True, served_by=ServedBy.REPLICA, past=Past.REPLAY)
    def get(
        self, hash: TransactionHash, indices: list[Number]
    ) -> Offload[Annotated[Raw, SealedFrame] | None]:
        """Return the frame of a transaction whose `traceAddress` is `indices`; null if there is none."""
        block, index = self._traces.transaction(hash)
        wanted = [int(index) for index in indices]

        def work() -> Raw | None:
            traced = trace_transaction(block, index, _ALL, self._traces.budget())
            frames = _frames(traced.trace or b"[]")
            return next((frame for frame in frames if _frame(frame).trace_address == wanted), None)

        return Offload(work)

    @method(BlockNotFound, InvalidParams, TraceTooLarge, served_by=ServedBy.BLOCK, past=Past.LOCAL)
    def filter(
        self, filter: TraceFilterObject
    ) -> Offload[Annotated[TraceWriter, list[SealedFrame]]]:
        """Return the frames of up to 300 blocks that are from or to some addresses.

        With addresses of both kinds one of them has to match, with the mode `intersection` both. `after` frames are
        skipped, and at most `count` are returned. On a fork these are blocks above its anchor.
        """
        first = self._traces.number(filter.from_block or _EARLIEST)
        last = self._traces.number(filter.to_block or _LATEST)
        check_range(first, last)
        options, after = filter.options(), int(filter.after or 0)
        count = None if filter.count is None else int(filter.count)

        def work(budget: TraceBudget) -> None:
            blocks = self._sealed(range(first, last + 1))
            if after == 0 and count is None:
                self._write(budget, blocks, options)
            else:
                self._write_page(budget, self._traced(budget, blocks, options), after, count)

        return self._traces.run(work)

    def _sealed(self, numbers: Iterable[int]) -> Iterator[SealedBlock]:
        for number in numbers:
            if not self._traces.is_genesis(number):
                yield self._traces.block(number)

    def _traced(
        self, budget: TraceBudget, blocks: Iterable[SealedBlock], options: bytes
    ) -> Iterator[ExecutionResult]:
        for block in blocks:
            for traced in trace_block(block, options, budget):
                if isinstance(traced.outcome, Exception):
                    raise traced.outcome
                yield traced.outcome

    def _write(self, budget: TraceBudget, blocks: Iterable[SealedBlock], options: bytes) -> None:
        budget.writer.write(b"[")
        for ran in self._traced(budget, blocks, options):
            budget.writer.write_items(ran)
        budget.writer.write(b"]")

    @staticmethod
    def _write_page(
        budget: TraceBudget, results: Iterator[ExecutionResult], after: int, count: int | None
    ) -> None:
        """Write the frames of a page, and trace no more than it takes."""
        page: list[Raw] = []
        skipped = 0
        for ran in results:
            frames = _frames(ran.trace or b"[]")
            skip = min(after - skipped, len(frames))
            skipped += skip
            page += frames[skip:]
            if count is not None and len(page) >= count:
                break
        budget.writer.write(b"[" + b",".join(bytes(encoded) for encoded in page[:count]) + b"]")


class TraceReplays:
    """Results with the types of traces that a request lists."""

    prefix = "trace"

    def __init__(self, traces: TraceRunner, runner: CallRunner) -> None:
        self._traces = traces
        self._runner = runner

    @method(*_OF_CALL, DeadlinePassed, served_by=ServedBy.BLOCK, past=Past.EXECUTE)
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

    @method(*_OF_CALL, InvalidParams, served_by=ServedBy.BLOCK, past=Past.EXECUTE)
    def call_many(
        self, calls: list[TracedCall], block: BlockId = LATEST
    ) -> Offload[Annotated[TraceWriter, list[TraceResults]]]:
        """Return the traces of calls; each runs on the state that the one before it left."""
        self._runner.check_calls(len(calls))
        for call in calls:
            self._runner.check_lists(call.call)
        evm_env = self._traces.env(block)

        def work(budget: TraceBudget) -> None:
            sequence = CallSequence(evm_env(), budget, self._runner.gas_cap)
            writer = budget.writer
            writer.write(b"[")
            for index, call in enumerate(calls):
                writer.write(b"," if index else b"")
                writer.write_trace(sequence.trace(call.call.request(), replay_options(call.types)))
            writer.write(b"]")

        return self._traces.run(work)

    @method(*_OF_CALL, DeadlinePassed, served_by=ServedBy.BLOCK, past=Past.EXECUTE)
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

    @method(TransactionNotFound, *_TOO_MUCH, served_by=ServedBy.REPLICA, past=Past.REPLAY)
    def replay_transaction(
        self, hash: TransactionHash, types: list[TraceType]
    ) -> Offload[Annotated[TraceWriter, TraceResults]]:
        """Execute a sealed transaction again, and return its traces."""
        block, index = self._traces.transaction(hash)
        options = replay_options(types)

        def work(budget: TraceBudget) -> None:
            budget.writer.write_trace(trace_transaction(block, index, options, budget))

        return self._traces.run(work)

    @method(BlockNotFound, NotInspectable, *_TOO_MUCH, served_by=ServedBy.BLOCK, past=Past.REPLAY)
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


_OPTIONS: Final = encode({"ownTracer": "opcodeGasTracer"})


class OpcodeGas(JsonModel, frozen=True, kw_only=True):
    """An opcode, how often it ran, and its gas without that of the calls that it makes."""

    opcode: Annotated[str, says("Its name.")]
    count: Annotated[int, says("How often it ran.")]
    gas_used: Annotated[int, says("Its gas, without that of calls that it makes.")]


class TransactionOpcodeGas(JsonModel, frozen=True, kw_only=True):
    """The opcodes that a transaction ran, in their order; a transfer runs none."""

    transaction_hash: Annotated[Hash32, says("The hash of the transaction.")]
    opcode_gas: Annotated[list[OpcodeGas], says("Each opcode that it ran.")]


class BlockOpcodeGas(JsonModel, frozen=True, kw_only=True):
    """The opcodes that the transactions of a block ran."""

    block_hash: Annotated[Hash32, says("The hash of the block.")]
    block_number: Annotated[int, says("The number of the block.")]
    transactions: Annotated[list[TransactionOpcodeGas], says("Its transactions, in order.")]


class TraceOpcodeGas:
    """The gas of sealed transactions by opcode."""

    prefix = "trace"

    def __init__(self, traces: TraceRunner) -> None:
        self._traces = traces

    @method(TransactionNotFound, DeadlinePassed, served_by=ServedBy.REPLICA, past=Past.REPLAY)
    def transaction_opcode_gas(
        self, hash: TransactionHash
    ) -> Offload[Annotated[TraceWriter, TransactionOpcodeGas]]:
        """Execute a sealed transaction again, and return how often each opcode ran and its gas."""
        block, index = self._traces.transaction(hash)

        def work(budget: TraceBudget) -> None:
            writer = budget.writer
            writer.write(_head(hash))
            writer.write_trace(trace_transaction(block, index, _OPTIONS, budget))
            writer.write(b"}")

        return self._traces.run(work)

    @method(BlockNotFound, DeadlinePassed, served_by=ServedBy.BLOCK, past=Past.REPLAY)
    def block_opcode_gas(self, block: BlockId) -> Offload[Annotated[TraceWriter, BlockOpcodeGas]]:
        """Execute the transactions of a block again, and return how often each opcode ran in each, and its gas.

        System calls of the block are none of its transactions. The genesis has none.
        """
        number = self._traces.number(block)
        if self._traces.is_genesis(number):
            return self._traces.run(lambda budget: self._write_genesis(budget, number))
        sealed = self._traces.block(number)

        def work(budget: TraceBudget) -> None:
            writer = budget.writer
            writer.write(_block_head(sealed.record.hash(), number))
            for traced in trace_block(sealed, _OPTIONS, budget):
                if isinstance(traced.outcome, DeadlinePassed):
                    raise traced.outcome
                writer.write(b"," if traced.position else b"")
                writer.write(_head(traced.hash))
                writer.write_trace(traced.outcome)
                writer.write(b"}")
            writer.write(b"]}")

        return self._traces.run(work)

    def _write_genesis(self, budget: TraceBudget, number: int) -> None:
        budget.writer.write(_block_head(self._traces.hash_of(number), number) + b"]}")


def _head(transaction_hash: Hash32) -> bytes:
    return b'{"transactionHash":"%b","opcodeGas":' % str(transaction_hash).encode()


def _block_head(block_hash: Hash32, number: int) -> bytes:
    return b'{"blockHash":"%b","blockNumber":%d,"transactions":[' % (
        str(block_hash).encode(),
        number,
    )
