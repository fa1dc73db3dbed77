"""`trace_transaction`, `trace_block`, `trace_get` and `trace_filter`: the frames of sealed transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Raw

from entresol._native import TraceWriter
from entresol.chain.finality import BlockTag
from entresol.errors import BlockNotFound, InvalidTraceRange, TraceTooLarge, TransactionNotFound
from entresol.execution.trace.block_trace import trace_block, trace_transaction
from entresol.offload import Offload
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.models.traces import SealedFrame
from entresol.rpc.types.block_id import BlockId, BlockNumber, TransactionHash
from entresol.rpc.types.number import Number
from entresol.rpc.types.trace_request import TraceFilterObject, check_range, frame_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from entresol._native import ExecutionResult
    from entresol.execution.trace.block_trace import SealedBlock
    from entresol.execution.trace.budget import TraceBudget
    from entresol.rpc.services.trace_runner import TraceRunner

_ALL: Final = frame_options()
_EARLIEST: Final = BlockNumber.parse(str(BlockTag.EARLIEST))
_LATEST: Final = BlockNumber.parse(str(BlockTag.LATEST))


class _Frame(msgspec.Struct, rename="camel"):
    """What identifies a frame."""

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
        wanted = [int(it) for it in indices]

        def work() -> Raw | None:
            traced = trace_transaction(block, index, _ALL, self._traces.budget())
            frames = _frames(traced.trace or b"[]")
            return next((frame for frame in frames if _frame(frame).trace_address == wanted), None)

        return Offload(work)

    @method(
        BlockNotFound, InvalidTraceRange, TraceTooLarge, served_by=ServedBy.BLOCK, past=Past.LOCAL
    )
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
        """Yield the blocks that were executed."""
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
        budget.writer.write(b"[" + b",".join(bytes(it) for it in page[:count]) + b"]")
