"""What clients ask about blocks and transactions, answered in JSON that is ready to send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import msgspec

from entresol._native import keccak256
from entresol.chain.events import BlocksReverted, Event, TransactionPending
from entresol.chain.logs import LocatedLog
from entresol.execution.block_executor import ExecutedBlock
from entresol.primitives.headers import Header
from entresol.primitives.records import BlockRecord
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Hash32
from entresol.rpc.cache.blocks import Key, RenderedCache, ResponseKind
from entresol.rpc.cache.logs import LogCache
from entresol.rpc.jsonrpc.cooperative import cooperatively
from entresol.rpc.jsonrpc.offload import POLICY, Offload
from entresol.rpc.render.blocks import (
    block_text,
    full_transactions,
    header_text,
    pending_text,
    transaction_hashes,
)
from entresol.rpc.render.hex import array, data, raw
from entresol.rpc.render.inclusion import BatchReader, BlockInclusion, NoBatches
from entresol.rpc.render.logs import log_text
from entresol.rpc.render.receipts import receipt_at, receipts_of
from entresol.rpc.render.transactions import transaction_text
from entresol.storage.readers import BlockReader

Answer: TypeAlias = msgspec.Raw | Offload[msgspec.Raw] | None
"""An answer, the work to write a long one, or none."""


class PendingReader(Protocol):
    """Transactions that wait for a block."""

    def get(self, transaction_hash: bytes) -> Transaction | None:
        """Return the transaction with this hash."""


class RenderedChain:
    """Blocks, transactions, receipts and logs of one chain, as clients see them.

    Remembers: encoded answers and the book of logs, within bounds. Persists: nothing. Assumes: `follow` gets the chain's
    events as they happen, and `batch_sealed` is called for each batch. Fails: as its readers do; what
    does not exist is none.
    """

    def __init__(
        self,
        chain_id: int,
        blocks: BlockReader,
        waiting: PendingReader,
        pending: Callable[[], ExecutedBlock],
        *,
        batches: BatchReader | None = None,
        cache: RenderedCache | None = None,
    ) -> None:
        self._chain_id = chain_id
        self._blocks = blocks
        self._waiting = waiting
        self._pending = pending
        self._pending_written: ExecutedBlock | None = None
        self._pending_texts: dict[bool, msgspec.Raw] = {}
        self._batches = batches or NoBatches()
        self._cache = RenderedCache() if cache is None else cache
        self.log_cache = LogCache(blocks, self._batches)

    def on_invalidate(self, callback: Callable[[], None]) -> None:
        """Have `callback` called when cached responses about blocks are invalidated."""
        self._cache.on_invalidate = callback

    # Blocks

    def block(self, number: int, *, full: bool) -> Answer:
        """Return a sealed block, with whole transactions or their hashes."""
        key = (ResponseKind.FULL_BLOCK if full else ResponseKind.BLOCK), number
        return self._cache.get(key) or self._of_block(key, number, self._block)

    def header(self, number: int) -> Answer:
        """Return the header of a sealed block."""
        key = ResponseKind.HEADER, number
        return self._cache.get(key) or self._of_block(key, number, _header)

    def block_receipts(self, number: int) -> Answer:
        """Return the receipts of a sealed block."""
        key = ResponseKind.RECEIPTS, number
        return self._cache.get(key) or self._of_block(key, number, _receipts)

    def transaction_count(self, number: int) -> int | None:
        """Return how many transactions a sealed block has."""
        record = self._record(number)
        return None if record is None else len(record.transactions)

    # Transactions

    def transaction(self, transaction_hash: bytes) -> msgspec.Raw | None:
        """Return a transaction that is in a block or waits for one."""
        key = ResponseKind.TRANSACTION, transaction_hash
        if (known := self._cache.get(key)) is not None:
            return known
        # The pool first: what leaves it is in the store by then, so nothing is missed in between.
        if (waiting := self._waiting.get(transaction_hash)) is not None:
            return self.pending_transaction(waiting)
        return self._of_transaction(key, transaction_hash, self._transaction)

    def transaction_at(self, number: int, index: int) -> msgspec.Raw | None:
        """Return a transaction by its place."""
        record = self._record(number)
        if record is None or not 0 <= index < len(record.transactions):
            return None
        return raw(self._transaction(record, self._place(record)[1], index))

    def pending_transaction(self, transaction: Transaction) -> msgspec.Raw:
        """Return a transaction that has no place yet."""
        return raw(transaction_text(transaction, self._chain_id))

    def raw_transaction(self, transaction_hash: bytes) -> msgspec.Raw | None:
        """Return the bytes of a transaction that is in a block or waits for one."""
        if (waiting := self._waiting.get(transaction_hash)) is not None:
            return raw(data(waiting.raw))
        place = self._blocks.locate_transaction(transaction_hash)
        return None if place is None else self.raw_transaction_at(*place)

    def raw_transaction_at(self, number: int, index: int) -> msgspec.Raw | None:
        """Return the bytes of a transaction by its place."""
        record = self._record(number)
        if record is None or not 0 <= index < len(record.transactions):
            return None
        return raw(data(record.transactions[index][0]))

    def receipt(self, transaction_hash: bytes) -> msgspec.Raw | None:
        """Return how a transaction ended."""
        key = ResponseKind.RECEIPT, transaction_hash
        return self._cache.get(key) or self._of_transaction(key, transaction_hash, receipt_at)

    # A log that has no block yet, and heads, which events tell of

    def log(self, log: LocatedLog) -> msgspec.Raw:
        """Return one log."""
        return raw(log_text(log, self._batches.batch_of(log.block_number)))

    def head(self, header: Header, block_hash: Hash32) -> msgspec.Raw:
        """Return a header that an event told of."""
        return raw(header_text(header, block_hash))

    # The block that is being built

    def pending_block(self, *, full: bool) -> msgspec.Raw:
        """Return the block that would be sealed now."""
        executed = self._pending()
        if executed is not self._pending_written:
            self._pending_written = executed
            self._pending_texts.clear()
        known = self._pending_texts.get(full)
        if known is None:
            known = self._pending_texts[full] = self._write_pending(executed, full=full)
        return known

    def pending_header(self) -> msgspec.Raw:
        """Return the header of the block that would be sealed now."""
        return raw(header_text(self._pending().header, None))

    def pending_transaction_count(self) -> int:
        """Return how many transactions the pending block has."""
        return len(self._pending().transactions)

    def _write_pending(self, executed: ExecutedBlock, *, full: bool) -> msgspec.Raw:
        record = executed.record
        whole = full_transactions(record, self._chain_id, None)
        return raw(
            pending_text(record, executed.header, whole if full else transaction_hashes(record))
        )

    # What changes answers

    def on_event(self, event: Event) -> None:
        """Take note of what happened on the chain."""
        if isinstance(event, BlocksReverted):
            # A batch that lost a block is gone, and those of its blocks that stay are in none.
            sealed = self._batches.last_block()
            last = event.head if sealed is None else min(event.head, sealed)
            self._cache.invalidate_above(last)
            self.log_cache.invalidate_above(last)
        elif isinstance(event, TransactionPending):
            self._cache.invalidate_transaction(event.transaction.hash)

    def batch_sealed(self, first: int, last: int) -> None:
        """Take note that the blocks from `first` to `last` have a batch."""
        self._cache.invalidate(first, last)
        self.log_cache.invalidate(first, last)

    def _block(
        self, record: BlockRecord, header: Header, place: BlockInclusion, kind: ResponseKind
    ) -> str:
        if kind is ResponseKind.BLOCK:
            return block_text(record, header, place, transaction_hashes(record))
        whole = cooperatively(full_transactions(record, self._chain_id, place))
        return block_text(record, header, place, whole)

    def _transaction(self, record: BlockRecord, place: BlockInclusion, index: int) -> str:
        return transaction_text(record.transaction(index), self._chain_id, place, index)

    def _of_block(
        self,
        key: Key,
        number: int,
        write: Callable[[BlockRecord, Header, BlockInclusion, ResponseKind], str],
    ) -> Answer:
        generation = self._cache.generation
        record = self._record(number)
        if record is None:
            return None

        def work() -> msgspec.Raw:
            answer = raw(write(record, *self._place(record), key[0]))
            self._cache.put(key, answer, block=number, generation=generation)
            return answer

        return work() if key[0] is ResponseKind.HEADER or _is_short(record) else Offload(work)

    def _of_transaction(
        self,
        key: Key,
        transaction_hash: bytes,
        write: Callable[[BlockRecord, BlockInclusion, int], str],
    ) -> msgspec.Raw | None:
        generation = self._cache.generation
        found = self._blocks.locate_transaction(transaction_hash)
        record = None if found is None else self._blocks.get_record(found[0])
        if found is None or record is None:
            return None
        answer = raw(write(record, self._place(record)[1], found[1]))
        # One that waits a second time gets another place when its time has come.
        if self._waiting.get(transaction_hash) is None:
            self._cache.put(key, answer, block=found[0], generation=generation)
        return answer

    def _record(self, number: int) -> BlockRecord | None:
        """Return the record of a block; a number may be one that no block can have."""
        head = self._blocks.head_number
        return self._blocks.get_record(number) if head is not None and 0 <= number <= head else None

    def _place(self, record: BlockRecord) -> tuple[Header, BlockInclusion]:
        header = record.header()
        batch = self._batches.batch_of(header.number)
        return header, BlockInclusion.of(header, keccak256(record.header_rlp), batch)


def _is_short(record: BlockRecord) -> bool:
    items = len(record.transactions) + sum(len(it.logs) for it in record.results)
    return items <= POLICY.rendered_items


def _header(
    _record: BlockRecord, header: Header, place: BlockInclusion, _kind: ResponseKind
) -> str:
    return header_text(header, place.hash)


def _receipts(
    record: BlockRecord, _header: Header, place: BlockInclusion, _kind: ResponseKind
) -> str:
    return array(cooperatively(receipts_of(record, place)))
