"""`trace_transactionOpcodeGas` and `trace_blockOpcodeGas`: how often each opcode ran, and its gas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from entresol._native import TraceWriter
from entresol.errors import BlockNotFound, DeadlinePassed, TransactionNotFound
from entresol.execution.trace.block_trace import trace_block, trace_transaction
from entresol.offload import Offload
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.block_id import BlockId, TransactionHash

if TYPE_CHECKING:
    from entresol.execution.trace.budget import TraceBudget
    from entresol.rpc.services.trace_runner import TraceRunner

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
