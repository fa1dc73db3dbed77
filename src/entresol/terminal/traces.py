"""Trace the transactions of sealed blocks for the log, on a thread of its own."""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol._native import wait_for_remote
from entresol.errors import DeadlinePassed, EntresolError, ExecutionFailed
from entresol.execution.call_frames import CALL_FRAMES, decode_call_frame
from entresol.execution.evm_env import State, code_of
from entresol.execution.tracing import SealedBlock, TraceBudget, TraceLimits, trace_block
from entresol.state_missing import WAIT_SECONDS
from entresol.terminal.call_tree import CallTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from entresol.chain.ledger import Ledger
    from entresol.primitives.records import BlockRecord
    from entresol.terminal.explainer import ContractNames, Explainer
    from entresol.terminal.formats import TransactionIncluded
    from entresol.terminal.log_details import LogDetails

log = logging.getLogger(__name__)

LIMITS: Final = TraceLimits(max_bytes=4 << 20, seconds=2.0)
"""The limits of the traces of one block; each is decoded with the GIL held, and drawn as text."""

MAX_PENDING: Final = 64
"""Blocks that may be queued; further ones are logged without traces."""

MAX_BLOCK_LINES: Final = 5_000
MAX_STACK_TRACES: Final = 10
"""Stack traces of one block."""

NOT_IN_TIME: Final = ("(not traced: blocks are sealed faster than they are traced)",)
NOT_SHOWN: Final = ("(not traced: the traces of the block are too long)",)


class LoggedBlock(NamedTuple):
    """The log entries of a block, and the indexes of transactions to trace."""

    number: int
    entries: Sequence[TransactionIncluded]
    traced: frozenset[int]
    """Transactions whose call tree is shown."""
    indexes: Sequence[int]
    """The index of each entry in the block, which may have hidden transactions."""
    failed: frozenset[int] = frozenset()
    """Transactions whose stack trace is shown."""
    failures: Mapping[int, ExecutionFailed] | None = None
    """Why transactions failed; None if nothing explains them."""


class TraceLog:
    """Adds call trees to the entries of blocks, in order, and writes them.

    Remembers: the blocks that are queued. Assumes: `write` may be called on any thread.
    Fails: never; a block that cannot be traced any more is logged without traces.
    """

    def __init__(
        self,
        ledger: Ledger,
        details: LogDetails,
        write: Callable[[TransactionIncluded], None],
        explainer: Explainer | None = None,
    ) -> None:
        self._ledger = ledger
        self._details = details
        self._explainer = explainer
        self._write = write
        # Blocks of a fork may have read what is forgotten since, and nothing else waits for this thread.
        self._thread = ThreadPoolExecutor(1, "trace-log", partial(wait_for_remote, WAIT_SECONDS))
        self._queue: list[Future[None]] = []
        self._is_closing = False

    @property
    def is_idle(self) -> bool:
        """Whether no block is queued."""
        self._queue = [queued for queued in self._queue if not queued.done()]
        return not self._queue

    def add(self, block: LoggedBlock) -> None:
        """Queue a block, to be written after those before it."""
        if not self.is_idle and len(self._queue) >= MAX_PENDING:
            block = block._replace(
                entries=_with(block, dict.fromkeys(block.traced, NOT_IN_TIME), {}),
                traced=frozenset(),
                failed=frozenset(),
                failures=None,
            )
            if len(self._queue) >= 2 * MAX_PENDING:
                # The order matters less than the memory.
                self._write_all(block.entries)
                return
        self._queue.append(self._thread.submit(self._log, block))

    def close(self) -> None:
        """Write what is queued, without further traces."""
        self._is_closing = True
        self._thread.shutdown(wait=True)

    def _log(self, block: LoggedBlock) -> None:
        trees: Mapping[int, Sequence[str]] = {}
        stacks: dict[int, Sequence[str]] = {}
        try:
            if block.failures is not None and not self._is_closing:
                block = self._named(block, block.failures)
            if block.traced and not self._is_closing:
                trees = dict(self._trees(block))
            for index in sorted(block.failed)[:MAX_STACK_TRACES]:
                if not self._is_closing:
                    stacks[index] = self._stack_trace(block, index)
        except EntresolError as error:
            log.debug("block %d cannot be traced: %s", block.number, error)
        except Exception:
            log.exception("block %d cannot be traced", block.number)
        self._write_all(_with(block, trees, stacks))

    def _sealed(self, block: LoggedBlock) -> SealedBlock | None:
        """Return the block as it was sealed; None if another one has its number by now."""
        sealed = self._ledger.sealed_block(block.number)
        return sealed if sealed.record.hash() == block.entries[0].block_hash else None

    def _named(self, block: LoggedBlock, failures: Mapping[int, ExecutionFailed]) -> LoggedBlock:
        """Return a block whose transactions have the names that the explainer gives."""
        sealed = self._sealed(block)
        if sealed is None:
            return block
        names = self._names(sealed.replay().overlay)
        pairs = zip(block.indexes, block.entries, strict=True)
        return block._replace(
            entries=[
                named(entry, sealed.record, index, failures.get(index), names, self._details)
                for index, entry in pairs
            ]
        )

    def _names(self, state: State) -> ContractNames:
        assert self._explainer is not None
        return self._explainer.names(self._details.abis, partial(code_of, state))

    def _stack_trace(self, block: LoggedBlock, index: int) -> Sequence[str]:
        """Return where in the source a transaction failed, without the reason, which its line has."""
        sealed = self._sealed(block)
        if sealed is None or self._explainer is None:
            return ()
        return self._explainer.failed_transaction(sealed, index, LIMITS.seconds)

    def _trees(self, block: LoggedBlock) -> Iterator[tuple[int, Sequence[str]]]:
        """Yield the call trees of the transactions to trace, while there is room."""
        sealed = self._sealed(block)
        if sealed is None:
            return
        room = MAX_BLOCK_LINES
        names = None
        if self._explainer is not None and not self._explainer.is_empty:
            # With what its transactions create; each of them draws its own creations by what creates them.
            names = self._names(self._ledger.state_after(block.number))
        tree = CallTree(self._details.abis, names)
        for traced in trace_block(sealed, CALL_FRAMES, TraceBudget(LIMITS), block.traced):
            if self._is_closing:
                return
            outcome = traced.outcome
            if isinstance(outcome, DeadlinePassed):
                yield traced.position, (f"(not traced: {outcome})",)
                continue
            assert outcome.trace is not None
            lines = tree.draw(decode_call_frame(outcome.trace))
            room -= len(lines)
            if room < 0:
                yield traced.position, NOT_SHOWN
                return
            yield traced.position, lines

    def _write_all(self, entries: Sequence[TransactionIncluded]) -> None:
        for entry in entries:
            self._write(entry)


def named(
    entry: TransactionIncluded,
    record: BlockRecord,
    index: int,
    failure: ExecutionFailed | None,
    names: ContractNames,
    details: LogDetails,
) -> TransactionIncluded:
    """Return a transaction with the names that an explainer gives, of which it has as much as the verbosity wants."""
    payload = record.transaction(index).payload
    contract = names.created(payload.data) if payload.to is None else names.at(str(payload.to))
    by_source = details.by(contract.abis)
    call = None if payload.to is None else by_source.call(payload.data)
    if call is not None and contract.name is not None:
        call = f"{contract.name}::{call}"
    return msgspec.structs.replace(
        entry,
        contract=contract.name,
        call=call,
        events=by_source.events(record.results[index]),
        failure=by_source.failure(failure),
    )


def _with(
    block: LoggedBlock, trees: Mapping[int, Sequence[str]], stacks: Mapping[int, Sequence[str]]
) -> list[TransactionIncluded]:
    return [
        msgspec.structs.replace(entry, trace=trees.get(index, ()), stack=stacks.get(index, ()))
        if index in trees or index in stacks
        else entry
        for index, entry in zip(block.indexes, block.entries, strict=True)
    ]
