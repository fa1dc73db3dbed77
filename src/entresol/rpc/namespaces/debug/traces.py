"""`debug_traceTransaction` and `debug_traceBlock…`: sealed transactions, traced again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from entresol._native import TraceWriter, keccak256, rlp_decode, rlp_encode
from entresol.errors import (
    BlockNotFound,
    DeadlinePassed,
    GenesisNotTraceable,
    MalformedValue,
    TraceTooLarge,
    TransactionNotFound,
    UnknownTracer,
)
from entresol.execution.trace.block_trace import trace_block, trace_transaction
from entresol.offload import Offload
from entresol.primitives.values import Data, Hash32
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.models.traces import TracerResult, TransactionTraceResult
from entresol.rpc.types.block_id import BlockHash, BlockId, BlockNumber, TransactionHash
from entresol.rpc.types.trace_request import TraceConfig

if TYPE_CHECKING:
    from entresol.execution.trace.budget import TraceBudget
    from entresol.rpc.services.trace_runner import TraceRunner

_EMPTY_TRACE: Final = b'{"failed":false,"gas":0,"returnValue":"0x","structLogs":[]}'


class DebugTraces:
    """Traces of sealed transactions, of every type."""

    prefix = "debug"

    def __init__(self, traces: TraceRunner) -> None:
        self._traces = traces

    @method(
        TransactionNotFound,
        UnknownTracer,
        TraceTooLarge,
        DeadlinePassed,
        served_by=ServedBy.REPLICA,
        past=Past.REPLAY,
    )
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

    @method(
        BlockNotFound,
        GenesisNotTraceable,
        UnknownTracer,
        TraceTooLarge,
        served_by=ServedBy.BLOCK,
        past=Past.REPLAY,
    )
    def trace_block_by_number(
        self, block: BlockNumber, config: TraceConfig | None = None
    ) -> Offload[Annotated[TraceWriter, list[TransactionTraceResult]]]:
        """Return the traces of all transactions of a block, by number or tag."""
        return self._trace_block(self._traces.number(block), config)

    @method(
        BlockNotFound,
        GenesisNotTraceable,
        UnknownTracer,
        TraceTooLarge,
        served_by=ServedBy.REPLICA,
        past=Past.REPLAY,
    )
    def trace_block_by_hash(
        self, hash: BlockHash, config: TraceConfig | None = None
    ) -> Offload[Annotated[TraceWriter, list[TransactionTraceResult]]]:
        """Return the traces of all transactions of a block, by hash."""
        return self._trace_block(self._traces.number(BlockId(block_hash=hash)), config)

    @method(
        BlockNotFound,
        GenesisNotTraceable,
        UnknownTracer,
        TraceTooLarge,
        served_by=ServedBy.REPLICA,
        past=Past.LOCAL,
    )
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
