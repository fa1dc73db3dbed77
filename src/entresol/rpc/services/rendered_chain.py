"""Blocks, transactions, receipts and logs of a chain as encoded JSON, cached."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from entresol.chain.events import BlocksReverted, Event, TransactionPending
from entresol.chain.logs import LocatedLog
from entresol.execution.block_executor import ExecutedBlock
from entresol.listeners import Listeners
from entresol.offload import POLICY, Offload
from entresol.primitives.headers import Header
from entresol.primitives.records import BlockRecord
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Hash32
from entresol.rpc.cache import Key, LogCache, RenderedCache, ResponseKind
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.render.chain_json import (
    BatchInfo,
    BatchReader,
    BlockInclusion,
    NoBatches,
    block_json,
    full_transactions,
    header_json,
    located_log_json,
    receipts_json,
    stored_block_json,
    stored_header_json,
    transaction_hashes,
    transaction_json,
)
from entresol.rpc.render.hex import data, raw
from entresol.storage.store_view import StoreView

if TYPE_CHECKING:
    from msgspec import Raw

    from entresol._native import Rules
    from entresol.chain.mempool.pool_index import PoolView
    from entresol.chain.sealing.l1_queues import PriorityQueue
    from entresol.storage.batch_table import BatchTable


class BatchInclusion:
    """Finds the batch of a block."""

    def __init__(self, batches: BatchTable) -> None:
        self._batches = batches

    def batch_of(self, block: int) -> BatchInfo | None:
        """Return the sealed batch of a block, or None."""
        position = self._batches.position_of_block(block)
        batch = None if position is None else self._batches.get(position.batch)
        if position is None or batch is None:
            return None
        return BatchInfo(number=batch.number, timestamp=batch.first_timestamp)

    def last_block(self) -> int | None:
        """Return the last block of the last sealed batch, or None."""
        last = self._batches.last()
        return None if last is None else last.last_block


Result: TypeAlias = msgspec.Raw | Offload[msgspec.Raw] | None
"""A rendered object, the work to render a long one, or None if there is no such object."""


class RenderedPending:
    """The pending block of one chain, as clients see it.

    Remembers: the block rendered last, as long as `build` returns the same one.
    """

    def __init__(self, chain_id: int, build: Callable[[], ExecutedBlock]) -> None:
        self._chain_id = chain_id
        self._build = build
        self._rendered: ExecutedBlock | None = None
        self._json: dict[bool, Raw] = {}

    def block(self, *, full: bool) -> Raw | Offload[Raw]:
        """Return the block, with full transactions or their hashes."""
        executed = self._build()
        if executed is not self._rendered:
            self._rendered, self._json = executed, {}
        cache = self._json
        if full in cache:
            return cache[full]

        def work() -> Raw:
            cache[full] = rendered = self._render(executed, full=full)
            return rendered

        return work() if len(executed.transactions) <= POLICY.rendered_items else Offload(work)

    def header(self) -> Raw:
        """Return the header of the block."""
        return msgspec.Raw(header_json(self._build().header, None))

    def transaction_count(self) -> int:
        """Return how many transactions the block has."""
        return len(self._build().transactions)

    def _render(self, executed: ExecutedBlock, *, full: bool) -> Raw:
        record = executed.record
        transactions = (
            cooperatively(full_transactions(record, self._chain_id, None))
            if full
            else transaction_hashes(record)
        )
        return msgspec.Raw(block_json(record, None, None, transactions))


class RenderedChain:
    """Blocks, transactions, receipts and logs of one chain, as clients see them.

    Remembers: encoded responses and logs, within bounds. Assumes: `on_event` gets the chain's
    events as they happen, and `batch_sealed` is called for each batch. Fails: as its readers do; what does not
    exist is None.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        chain_id: int,
        blocks: StoreView,
        pending_transactions: PendingTransactions,
        build_pending: Callable[[], ExecutedBlock],
        *,
        batches: BatchReader | None = None,
        blobs: Rules | int = 1,
        cache: RenderedCache | None = None,
    ) -> None:
        self._chain_id = chain_id
        self._blocks = blocks
        self._pending_transactions = pending_transactions
        self.pending = RenderedPending(chain_id, build_pending)
        self._batches = batches or NoBatches()
        self._blobs = blobs
        self._cache = RenderedCache() if cache is None else cache
        self.log_cache = LogCache(blocks, self._batches)

    @property
    def cached_bytes(self) -> int:
        """How many bytes cached responses take, without those of logs."""
        return self._cache.size

    @property
    def invalidated(self) -> Listeners[[]]:
        """Notified when cached responses about blocks are invalidated."""
        return self._cache.invalidated

    # Blocks

    def block(self, number: int, *, full: bool) -> Result:
        """Return a sealed block, with full transactions or their hashes."""
        if full:
            key = ResponseKind.FULL_BLOCK, number
            return self._cached(key) or self._render_full_block(key, number)
        key = ResponseKind.BLOCK, number
        return self._cached(key) or self._render_stored(key, number, self._block)

    def header(self, number: int) -> Result:
        """Return the header of a sealed block."""
        key = ResponseKind.HEADER, number
        return self._cache.get(key) or self._render_stored(key, number, _header)

    def block_receipts(self, number: int) -> Result:
        """Return the receipts of a sealed block."""
        key = ResponseKind.RECEIPTS, number
        return self._cached(key) or self._render_stored(key, number, self._receipts)

    def transaction_count(self, number: int) -> int | None:
        """Return how many transactions a sealed block has."""
        record = self._blocks.get_record(number)
        return None if record is None else len(record.transactions)

    def _cached(self, key: Key) -> Result:
        """Return what is cached; a long response is to be copied by a thread."""
        found = self._cache.get(key)
        if found is None or memoryview(found).nbytes <= POLICY.copied_bytes:
            return found
        return Offload(lambda: found)

    # Transactions

    def transaction(self, transaction_hash: bytes) -> msgspec.Raw | None:
        """Return a transaction that is in a block or pending."""
        key = ResponseKind.TRANSACTION, transaction_hash
        if (cached := self._cache.get(key)) is not None:
            return cached
        # The pool first: a transaction that leaves it is in the store by then, so none is missed in between.
        if (pending := self._pending_transactions.get(transaction_hash)) is not None:
            return self.pending_transaction(pending)
        return self._render_transaction(key, transaction_hash)

    def transaction_at(self, number: int, index: int) -> msgspec.Raw | None:
        """Return a transaction by block and index."""
        record = self._blocks.get_record(number)
        if record is None or not 0 <= index < len(record.transactions):
            return None
        return raw(self._transaction(record, self._inclusion(record), index))

    def pending_transaction(self, transaction: Transaction) -> msgspec.Raw:
        """Return a transaction that is in no block."""
        return raw(transaction_json(transaction, self._chain_id))

    def raw_transaction(self, transaction_hash: bytes) -> msgspec.Raw | None:
        """Return the bytes of a transaction that is in a block or pending."""
        if (pending := self._pending_transactions.get(transaction_hash)) is not None:
            return raw(data(pending.raw))
        location = self._blocks.locate_transaction(transaction_hash)
        return None if location is None else self.raw_transaction_at(*location)

    def raw_transaction_at(self, number: int, index: int) -> msgspec.Raw | None:
        """Return the bytes of a transaction by block and index."""
        record = self._blocks.get_record(number)
        if record is None or not 0 <= index < len(record.transactions):
            return None
        return raw(data(record.transactions[index][0]))

    def receipt(self, transaction_hash: bytes) -> Result:
        """Return the receipt of a transaction."""
        key = ResponseKind.RECEIPT, transaction_hash
        if (cached := self._cache.get(key)) is not None:
            return cached
        location = self._blocks.locate_transaction(transaction_hash)
        if location is None:
            return None
        number, index = location
        is_final = self._is_final(transaction_hash)
        render = partial(self._receipts, index=index)
        return self._render_stored(key, number, render, is_final=is_final)

    # Logs without a block, and headers of events

    def log(self, log: LocatedLog) -> msgspec.Raw:
        """Return one log."""
        return msgspec.Raw(located_log_json(log, self._batches.batch_of(log.block_number)))

    def head(self, header: Header, block_hash: Hash32) -> msgspec.Raw:
        """Return the header of a `BlockSealed` event."""
        return msgspec.Raw(header_json(header, block_hash))

    # Invalidation

    def on_event(self, event: Event) -> None:
        """Invalidate what an event of the chain makes stale."""
        if isinstance(event, BlocksReverted):
            # A batch that lost a block is reverted too, and those of its blocks that stay are in none.
            sealed = self._batches.last_block()
            last = event.head if sealed is None else min(event.head, sealed)
            self._cache.invalidate_above(last)
            self.log_cache.invalidate_above(last)
        elif isinstance(event, TransactionPending):
            self._cache.invalidate_transaction(event.transaction.hash)

    def batch_sealed(self, first: int, last: int) -> None:
        """Invalidate the blocks from `first` to `last`: they have a batch now."""
        self._cache.invalidate(first, last)
        self.log_cache.invalidate(first, last)

    # Rendering

    def _block(self, stored: bytes, number: int) -> bytes:
        return stored_block_json(stored, self._batches.batch_of(number))

    def _receipts(self, stored: bytes, number: int, index: int | None = None) -> bytes:
        is_long = len(stored) > POLICY.record_bytes
        batch = self._batches.batch_of(number)
        return receipts_json(stored, index, batch, self._blobs, detached=is_long)

    def _inclusion(self, record: BlockRecord) -> BlockInclusion:
        header = record.header()
        batch = self._batches.batch_of(header.number)
        return BlockInclusion.of(header, record.hash(), batch)

    def _transaction(self, record: BlockRecord, inclusion: BlockInclusion, index: int) -> str:
        return transaction_json(record.transaction(index), self._chain_id, inclusion, index)

    def _render_stored(
        self, key: Key, number: int, render: Callable[[bytes, int], bytes], *, is_final: bool = True
    ) -> Result:
        generation = self._cache.generation
        stored = self._blocks.get_encoded_record(number) if number >= 0 else None
        if stored is None:
            return None

        def work() -> msgspec.Raw:
            rendered = msgspec.Raw(render(stored, number))
            if is_final:
                self._cache.put(key, rendered, block=number, generation=generation)
            return rendered

        is_short = key[0] is ResponseKind.HEADER or len(stored) <= POLICY.record_bytes
        return work() if is_short else Offload(work)

    def _render_full_block(self, key: Key, number: int) -> Result:
        generation = self._cache.generation
        record = self._blocks.get_record(number)
        if record is None:
            return None

        def work() -> msgspec.Raw:
            inclusion = self._inclusion(record)
            transactions = cooperatively(full_transactions(record, self._chain_id, inclusion))
            rendered = msgspec.Raw(
                block_json(record, inclusion.hash, inclusion.batch, transactions)
            )
            self._cache.put(key, rendered, block=number, generation=generation)
            return rendered

        return work() if len(record.transactions) <= POLICY.rendered_items else Offload(work)

    def _is_final(self, transaction_hash: bytes) -> bool:
        """Say whether a transaction stays in its block: one that is pending once more will be in another."""
        return self._pending_transactions.get(transaction_hash) is None

    def _render_transaction(self, key: Key, transaction_hash: bytes) -> msgspec.Raw | None:
        location = self._blocks.locate_transaction(transaction_hash)
        record = None if location is None else self._blocks.get_record(location.block_number)
        if location is None or record is None:
            return None
        generation, inclusion = self._cache.generation, self._inclusion(record)
        rendered = raw(self._transaction(record, inclusion, location.transaction_index))
        if self._is_final(transaction_hash):
            self._cache.put(key, rendered, block=inclusion.number, generation=generation)
        return rendered


def _header(stored: bytes, _number: int) -> bytes:
    return stored_header_json(stored)


class RenderedObjects:
    """Decodes what `RenderedChain` has rendered; for worker threads."""

    def __init__(self, rendered: RenderedChain) -> None:
        self.rendered = rendered

    def block(self, number: int) -> dict[str, Any]:
        """Return a sealed block with the hashes of its transactions."""
        return _decoded(self.rendered.block(number, full=False))

    def transaction(
        self, record: BlockRecord, position: int
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return a sealed transaction and its receipt."""
        transaction_hash = record.transaction_hash(position)
        number = record.header().number
        shown = self.rendered.transaction_at(number, position)
        return _decoded(shown), _decoded(self.rendered.receipt(transaction_hash))


def _decoded(result: Result) -> dict[str, Any]:
    rendered = result.work() if isinstance(result, Offload) else result
    decoded: dict[str, Any] = msgspec.json.decode(rendered or b"{}")
    return decoded


class PendingTransactions:
    """The transactions of the pool and of the priority queue."""

    def __init__(self, pool: PoolView, priority: PriorityQueue) -> None:
        self._pool = pool
        self._priority = priority

    def get(self, transaction_hash: bytes) -> Transaction | None:
        """Return the transaction with this hash, or None."""
        return self._pool.get(transaction_hash) or self._priority.get(transaction_hash)
