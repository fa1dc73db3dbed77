"""The open batch: limits, contents, and what is committed to L1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec

from entresol.counted import counted
from entresol.errors import BatchOverflow, StoreDamaged
from entresol.primitives.batches import Batch, DataScheme
from entresol.primitives.interop_bundles import MessageLoad
from entresol.primitives.interop_roots import MAX_ROOTS_PER_BATCH
from entresol.primitives.interop_roots import rolling_hash as rolling_hash_of_roots
from entresol.primitives.records import roots_of
from entresol.primitives.transactions.priority import MAX_PRIORITY_TRANSACTIONS, PRIORITY_TYPES
from entresol.primitives.transactions.system import SYSTEM_TYPE
from entresol.primitives.values import Hash32
from entresol.rollup.commitments import (
    NO_DATA_INPUT,
    CommitBatchInfo,
    StoredBatchInfo,
    calldata_commitment,
    calldata_input,
)
from entresol.rollup.message_tree import CAPACITY, MessageTree
from entresol.rollup.priority_tree import EMPTY_LEAF, Frontier, rolling_hash
from entresol.rollup.publication.publication import Publication

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.primitives.interop_roots import InteropRoot
    from entresol.primitives.records import BlockRecord
    from entresol.rollup.priority_tree import PriorityOpsBatchInfo
    from entresol.storage.store_view import StoreView

MAX_TRANSACTIONS: Final = 65_535
"""A log has two bytes for the index of its transaction in the block, and a batch may be one block."""


class SealingPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Limits at which a batch is sealed, whichever it reaches first.

    A block is never divided: one that exceeds a limit gets a batch of its own. A batch without
    transactions is never due by its age, so that an idle chain has nothing to settle; those that import roots do not
    count, so that chains do not keep each other awake. Bundles have limits of their own (`MessageLoad`), which no block
    exceeds alone: one transaction of L1 books a batch.
    """

    max_age: float = 0.25
    """Seconds since its first transaction was added."""
    max_blocks: int = 1_024
    max_logs: int = CAPACITY
    max_transactions: int = MAX_TRANSACTIONS

    def __post_init__(self) -> None:
        """Reject limits above those of the protocol."""
        if not 1 <= self.max_logs <= CAPACITY:
            raise BatchOverflow(f"a batch has 1 to {CAPACITY} logs, not {self.max_logs}")
        if not 1 <= self.max_transactions <= MAX_TRANSACTIONS:
            raise BatchOverflow(
                f"a batch has 1 to {MAX_TRANSACTIONS} transactions, not {self.max_transactions}"
            )


class SealedBatch(NamedTuple):
    """A sealed batch, its packed logs, the first transaction number and the logs before each of its blocks, its data."""

    batch: Batch
    logs: bytes
    logs_before: list[int]
    """How many of its logs precede each of its blocks."""
    data: bytes = b""
    """The data that it publishes."""


class BatchBody(Protocol):
    """The data that the blocks of the open batch publish."""

    @property
    def hashed_from(self) -> int:
        """The first block of the chain whose edits are published by hash; 0 if there is none."""

    def has_room_for(self, record: BlockRecord) -> bool:
        """Return whether the next block fits; raises `BatchOverflow` if no batch could publish it."""

    def add(self, record: BlockRecord) -> None:
        """Add the next block."""

    def finish(self) -> bytes:
        """Return what is published."""


class OpenBatch:
    """The batch that blocks are added to."""

    def __init__(
        self, number: int, first_block: int, frontier: Frontier, body: BatchBody | None = None
    ) -> None:
        """Open a batch; without a `body` it publishes nothing."""
        self.number = number
        self.first_block = first_block
        self.frontier = frontier
        self.transactions = 0
        self.logs: list[bytes] = []
        self.priority: list[Hash32] = []
        self.roots: list[InteropRoot] = []
        self.load = MessageLoad()
        self.active_since: float | None = None
        """When its first transaction was added that is not the node's own."""
        self._logs_before: list[int] = []
        self._first_timestamp = 0
        self._last_timestamp = 0
        self._state_root = Hash32.zero()
        self._body = body

    @property
    def blocks(self) -> int:
        """How many blocks it has."""
        return len(self._logs_before)

    @property
    def next_block(self) -> int:
        """The number of the next block to add."""
        return self.first_block + self.blocks

    def has_room_for(self, record: BlockRecord, policy: SealingPolicy) -> bool:
        """Return whether a block fits; raises `BatchOverflow` if it fits into no batch at all."""
        transactions, logs = len(record.transactions), _log_count(record)
        if transactions > MAX_TRANSACTIONS or logs > CAPACITY:
            raise BatchOverflow(
                f"block {self.next_block} has {counted(transactions, 'transaction')} and "
                f"{counted(logs, 'message')} to L1, and a batch at most {MAX_TRANSACTIONS} and {CAPACITY}"
            )
        if self._body is not None and not self._body.has_room_for(record):
            return False
        return not self.blocks or (
            self.blocks < policy.max_blocks
            and self.transactions + transactions <= policy.max_transactions
            and len(self.logs) + logs <= policy.max_logs
            and len(self.priority) + record.priority_count() <= MAX_PRIORITY_TRANSACTIONS
            and len(self.roots) + len(roots_of(record)) <= MAX_ROOTS_PER_BATCH
            and self.load.plus(MessageLoad.of_record(record)).is_bookable
        )

    def add(self, record: BlockRecord, now: float) -> None:
        """Add the next block."""
        if self._body is not None:
            self._body.add(record)
        header = record.header()
        if not self.blocks:
            self._first_timestamp = header.timestamp
        self._last_timestamp = header.timestamp
        self._state_root = header.state_root
        self.roots += roots_of(record)
        self.load = self.load.plus(MessageLoad.of_record(record))
        self._logs_before.append(len(self.logs))
        for index, (raw, _) in enumerate(record.transactions):
            self.logs += record.results[index].l2_to_l1_logs
            if raw[0] in PRIORITY_TYPES:
                self.priority.append(record.transaction(index).hash)
            self.transactions += 1
            if raw[0] != SYSTEM_TYPE and self.active_since is None:
                self.active_since = now

    def is_full(self, policy: SealingPolicy) -> bool:
        """Return whether it has reached a limit."""
        return (
            self.blocks >= policy.max_blocks
            or self.transactions >= policy.max_transactions
            or len(self.logs) >= policy.max_logs
            or len(self.roots) >= MAX_ROOTS_PER_BATCH
        )

    def is_old(self, policy: SealingPolicy, now: float) -> bool:
        """Return whether its first transaction is older than the maximum age."""
        return self.active_since is not None and now - self.active_since >= policy.max_age

    def seal(self) -> SealedBatch:
        """Return the batch as it is stored."""
        logs = b"".join(self.logs)
        body = self._body
        data = b"" if body is None else body.finish()
        batch = Batch(
            self.number,
            self.first_block,
            self.next_block - 1,
            self._first_timestamp,
            self._last_timestamp,
            self.transactions,
            len(self.priority),
            self.frontier.count,
            bytes(rolling_hash(self.priority)),
            self.frontier.nodes,
            len(self.logs),
            bytes(MessageTree.of_logs(logs).root),
            bytes(self._state_root),
            len(self.roots),
            bytes(rolling_hash_of_roots(self.roots)),
            *_published(data),
            0 if body is None else body.hashed_from,
        )
        return SealedBatch(batch, logs, self._logs_before, data)


def _published(data: bytes) -> tuple[DataScheme, bytes, int]:
    if not data:
        return DataScheme.NONE, bytes(32), 0
    return DataScheme.CALLDATA, bytes(calldata_commitment(data)), len(data)


def commit_info_of(batch: Batch, chain_id: int, data: bytes = b"") -> CommitBatchInfo:
    """Return what is committed to L1 for a batch, which publishes `data` or nothing."""
    return CommitBatchInfo(
        chain_id=chain_id,
        number=batch.number,
        first_block=batch.first_block,
        last_block=batch.last_block,
        first_timestamp=batch.first_timestamp,
        last_timestamp=batch.last_timestamp,
        state_root=Hash32(batch.state_root),
        message_root=Hash32(batch.message_root),
        l1_transactions=batch.l1_transactions,
        priority_hash=Hash32(batch.priority_hash),
        dependency_hash=Hash32(batch.dependency_hash),
        data_scheme=batch.data_scheme,
        data_commitment=Hash32(batch.data_commitment),
        data_input=calldata_input(data) if data else NO_DATA_INPUT,
    )


def stored_info_of(batch: Batch, chain_id: int) -> StoredBatchInfo:
    """Return what L1 stores the hash of for a batch."""
    if batch.number == 0:
        state_root = Hash32(batch.state_root)
        if batch.data_scheme is DataScheme.NONE:
            return StoredBatchInfo.genesis(state_root)
        return StoredBatchInfo.genesis(state_root, Hash32(batch.data_commitment))
    return commit_info_of(batch, chain_id).stored()


def priority_hashes(blocks: StoreView, batch: Batch) -> list[Hash32]:
    """Return the hashes of the priority transactions of a batch."""
    first = batch.first_priority_id
    return [priority_hash(blocks, number) for number in range(first, first + batch.l1_transactions)]


def priority_ops_of(blocks: StoreView, batch: Batch) -> PriorityOpsBatchInfo:
    """Return the priority transactions of a batch, with their proof in L1's priority tree."""
    return frontier_before(batch).prove(priority_hashes(blocks, batch))


def imported_roots_of(blocks: StoreView, batch: Batch) -> list[InteropRoot]:
    """Return the roots that the blocks of a batch import."""
    found: list[InteropRoot] = []
    for number in range(batch.first_block, batch.last_block + 1):
        if len(found) >= batch.interop_roots:
            break
        record = blocks.get_record(number)
        if record is None:
            raise StoreDamaged(blocks.path, f"block {number} of a batch is missing")
        found += roots_of(record)
    return found


def frontier_before(batch: Batch) -> Frontier:
    """Return L1's priority tree as it was before a batch."""
    return Frontier(batch.first_priority_id, batch.priority_frontier)


def frontier_after(blocks: StoreView, batch: Batch) -> Frontier:
    """Return L1's priority tree as it is after a batch."""
    return frontier_before(batch).extend(priority_hashes(blocks, batch))


def priority_hash(blocks: StoreView, priority_id: int) -> Hash32:
    """Return the hash of a priority transaction that a block has."""
    location = blocks.locate_priority(priority_id)
    record = None if location is None else blocks.get_record(location.block_number)
    if location is None or record is None:
        raise StoreDamaged(blocks.path, f"priority transaction {priority_id} of a batch is missing")
    return record.transaction(location.transaction_index).hash


def _log_count(record: BlockRecord) -> int:
    return sum(len(result.l2_to_l1_logs) for result in record.results)


def seal_genesis(chain: Chain) -> Batch:
    """Return batch 0 of a chain, which is stored unless the chain has it."""
    found = chain.batches.get(0)
    if found is not None:
        return found
    sealed = _sealed(chain)
    chain.batches.append(*sealed)
    return sealed.batch


def genesis_batch_hash(chain: Chain) -> Hash32:
    """Return the hash of batch 0, which L1 stores for a registered chain."""
    batch = chain.batches.get(0) or _sealed(chain).batch
    return stored_info_of(batch, chain.rules.chain_id).hash()


def sealed_genesis(record: BlockRecord, publication: Publication | None = None) -> SealedBatch:
    """Return batch 0 of a chain that begins with this block; without a `publication` it publishes nothing."""
    if publication is None:
        return SealedBatch(_batch(record), b"", [0])
    genesis = publication.genesis()
    # One that is too large is given as a file; its hash is on L1 all the same.
    data = genesis.publish() or b""
    return SealedBatch(_batch(record, genesis.hash(), len(data)), b"", [0], data)


def _sealed(chain: Chain) -> SealedBatch:
    return sealed_genesis(chain.ledger.record(chain.ledger.first), Publication.of(chain))


def _batch(record: BlockRecord, data_hash: Hash32 | None = None, data_size: int = 0) -> Batch:
    header = record.header()
    return Batch(
        number=0,
        first_block=header.number,
        last_block=header.number,
        first_timestamp=header.timestamp,
        last_timestamp=header.timestamp,
        transactions=0,
        l1_transactions=0,
        first_priority_id=0,
        priority_hash=bytes(EMPTY_LEAF),
        priority_frontier=(),
        logs=0,
        message_root=bytes(32),
        state_root=bytes(header.state_root),
        data_scheme=DataScheme.NONE if data_hash is None else DataScheme.CALLDATA,
        data_commitment=bytes(data_hash or Hash32.zero()),
        data_size=data_size,
    )
