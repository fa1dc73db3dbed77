"""Merkle proofs of L2-to-L1 logs, by transaction or by message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.cache_limits import CACHES
from entresol.primitives.batches import SettlementStep
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.l2_to_l1_logs import (
    L1_MESSAGE_SENT,
    L1_MESSENGER,
    PACKED_SIZE,
    ProvenLog,
    TreeNotBuilt,
)
from entresol.primitives.records import LAYOUT
from entresol.primitives.values import Address, Hash32
from entresol.rollup.message_tree import MessageTree

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from entresol.primitives.l2_to_l1_logs import LogProof
    from entresol.primitives.records import BlockRecord
    from entresol.storage.batch_table import BatchPosition, BatchTable
    from entresol.storage.store_view import StoreView

QUICK_LOGS: Final = 64
"""Over so many logs a tree is built in a tenth of a millisecond."""
_TREE_BYTES: Final = 4_096
_LOG_BYTES: Final = PACKED_SIZE + 64


class _Logs(NamedTuple):
    """The packed logs of a batch, and the tree over them."""

    packed: bytes
    tree: MessageTree


class LogProver:
    """Finds logs in batches that L1 has executed, and proves them."""

    def __init__(self, blocks: StoreView, batches: BatchTable) -> None:
        self._blocks = blocks
        self._batches = batches
        self._trees: BoundedMap[tuple[int, bytes], _Logs] = BoundedMap(
            max_weight=CACHES.message_trees
        )
        self._version: tuple[int, int | None] | None = None
        self._positions: BoundedMap[int, BatchPosition] = BoundedMap(CACHES.message_positions)
        self._executed: BoundedMap[int, _Logs] = BoundedMap(CACHES.message_positions)
        self._leaves: BoundedMap[tuple[bytes, int], tuple[int, int]] = BoundedMap(
            CACHES.message_positions
        )

    def prove_transaction_log(
        self, transaction_hash: Hash32, index: int = 0, *, quick: bool = False
    ) -> ProvenLog | None:
        """Prove the log at `index` among those of a transaction; None if L1 has no such log yet.

        With `quick`, raise `TreeNotBuilt` if that takes long.
        """
        self._refresh()
        key = (transaction_hash, index)
        found = self._leaves.get(key)
        if found is None:
            found = self._find(transaction_hash, index)
            if found is None:
                return None
            self._leaves.put(key, found)
        return self._prove(*found, quick=quick)

    def _find(self, transaction_hash: Hash32, index: int) -> tuple[int, int] | None:
        """Return the batch and the leaf of a transaction's log."""
        location = self._blocks.locate_transaction(transaction_hash)
        if location is None:
            return None
        block, transaction = location
        # Not kept, because the leaf is.
        position = self._batches.position_of_block(block)
        stored = self._blocks.get_encoded_record(block)
        if position is None or stored is None:
            return None
        before, count = LAYOUT.message_counts(stored, transaction) or self._counts(
            block, transaction
        )
        if not 0 <= index < count:
            return None
        return position.batch, position.logs_before + before + index

    def prove_message(
        self,
        block: int,
        sender: Address,
        message_hash: Hash32,
        log_index: int | None = None,
        *,
        quick: bool = False,
    ) -> ProvenLog | None:
        """Prove a message of `sender` in the batch of `block`.

        It is the first one in the batch, or the one whose event has the index `log_index` in the block. With `quick`,
        raise `TreeNotBuilt` if that takes long.
        """
        self._refresh()
        position = self._position(block)
        logs = None if position is None else self._executed_logs(position.batch, quick=quick)
        if position is None or logs is None:
            return None
        suffix = L1_MESSENGER + sender.rjust(32, b"\0") + message_hash
        if log_index is None:
            leaf = _leaf_of(logs.packed, suffix)
        else:
            leaf = self._leaf_of_event(block, position, log_index, suffix)
        return None if leaf is None else self._prove(position.batch, leaf)

    def prove_leaf(self, batch: int, leaf: int, *, left_out: Container[int]) -> LogProof:
        """Prove a log of an executed batch in the tree without some others; a batch with bundles has few enough."""
        tree = MessageTree.of_logs(self._batches.logs(batch), left_out)
        return tree.prove(leaf)

    def _refresh(self) -> None:
        """Forget where things are, once that may be another place."""
        version = (self._batches.version, self._blocks.head_number)
        if version != self._version:
            self._version = version
            self._positions = BoundedMap(CACHES.message_positions)
            self._executed = BoundedMap(CACHES.message_positions)
            self._leaves = BoundedMap(CACHES.message_positions)

    def _prove(self, number: int, leaf: int, *, quick: bool = False) -> ProvenLog | None:
        logs = self._executed_logs(number, quick=quick)
        if logs is None:
            return None
        packed = logs.packed[leaf * PACKED_SIZE : (leaf + 1) * PACKED_SIZE]
        return ProvenLog(number, packed, logs.tree.prove(leaf))

    def _position(self, block: int) -> BatchPosition | None:
        """Return where a block is in its batch, if that is sealed."""
        position = self._positions.get(block)
        if position is None:
            position = self._batches.position_of_block(block)
            if position is not None:
                self._positions.put(int(block), position)
        return position

    def _executed_logs(self, number: int, *, quick: bool) -> _Logs | None:
        """Return the logs of a batch, once L1 has executed it."""
        logs = self._executed.get(number)
        if logs is None:
            if self._batches.settled(number, SettlementStep.EXECUTE) is None:
                return None
            logs = self._logs(number, quick=quick)
            self._executed.put(number, logs)
        return logs

    def _logs(self, number: int, *, quick: bool) -> _Logs:
        batch = self._batches.get(number)
        key = (number, b"" if batch is None else batch.message_root)
        logs = self._trees.touch(key)
        if logs is None:
            if quick and batch is not None and batch.logs > QUICK_LOGS:
                raise TreeNotBuilt
            # A full batch has over a megabyte of logs, which is not read for each proof.
            packed = self._batches.logs(number)
            logs = _Logs(packed, MessageTree.of_logs(packed))
            size = _TREE_BYTES + len(packed) // PACKED_SIZE * _LOG_BYTES
            self._trees.put(key, logs, size)
        return logs

    def _counts(self, block: int, transaction: int) -> tuple[int, int]:
        """Return what the crate does of a record that it cannot read, or raise what is wrong with that."""
        counts = [len(result.l2_to_l1_logs) for result in self._blocks.record(block).results]
        return sum(counts[:transaction]), counts[transaction]

    def _leaf_of_event(
        self, block: int, position: BatchPosition, log_index: int, suffix: bytes
    ) -> int | None:
        """Return the leaf of the log whose event has the index `log_index` in a block."""
        record = self._blocks.get_record(block)
        if record is None:
            return None
        for leaf, (event, packed) in enumerate(_logs_with_events(record), position.logs_before):
            if event == log_index:
                return leaf if packed.endswith(suffix) else None
        return None


def _leaf_of(packed: bytes, suffix: bytes) -> int | None:
    """Return the first leaf of a batch's logs that ends in `suffix`."""
    at = packed.find(suffix)
    # The same bytes may also begin in the middle of a log.
    while at >= 0 and at % PACKED_SIZE != PACKED_SIZE - len(suffix):
        at = packed.find(suffix, at + 1)
    return at // PACKED_SIZE if at >= 0 else None


def _logs_with_events(record: BlockRecord) -> Iterator[tuple[int | None, bytes]]:
    """Yield the L2-to-L1 logs of a block, each with the index of its event if it has one."""
    index = 0
    for result in record.results:
        events = [
            index + position
            for position, (address, topics, _) in enumerate(result.logs)
            if address == L1_MESSENGER and topics[:1] == (L1_MESSAGE_SENT,) and len(topics) == 3
        ]
        index += len(result.logs)
        for number, packed in enumerate(result.l2_to_l1_logs):
            yield events[number] if number < len(events) else None, packed
