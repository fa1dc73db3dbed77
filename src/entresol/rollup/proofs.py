"""Merkle proofs of L2-to-L1 logs, by transaction or by message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.primitives.batches import SettlementStep
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.l2_to_l1_logs import (
    L1_MESSAGE_SENT,
    L1_MESSENGER,
    PACKED_SIZE,
    L2ToL1Log,
    ProvenLog,
)
from entresol.primitives.values import Address, Hash32
from entresol.rollup.message_tree import MessageTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.primitives.records import BlockRecord
    from entresol.storage.batch_table import BatchTable
    from entresol.storage.store_view import BlockReader

MAX_CACHED_TREES: Final = 8


class _Logs(NamedTuple):
    """The packed logs of a batch, and the tree over them."""

    packed: bytes
    tree: MessageTree


class LogProver:
    """Finds logs in batches that L1 has executed, and proves them.

    Remembers: recently used trees, by batch and root: after a revert another batch has the number.
    Persists: nothing; trees are built from the stored logs.
    """

    def __init__(self, blocks: BlockReader, batches: BatchTable) -> None:
        self._blocks = blocks
        self._batches = batches
        self._trees: BoundedMap[tuple[int, bytes], _Logs] = BoundedMap(MAX_CACHED_TREES)

    def prove_transaction_log(self, transaction_hash: Hash32, index: int = 0) -> ProvenLog | None:
        """Prove the log at `index` among those of a transaction; None if L1 has no such log yet."""
        location = self._blocks.locate_transaction(transaction_hash)
        if location is None:
            return None
        block, transaction = location
        position = self._batches.position_of_block(block)
        record = self._blocks.get_record(block)
        if position is None or record is None:
            return None
        if not 0 <= index < len(record.results[transaction].l2_to_l1_logs):
            return None
        before = sum(len(result.l2_to_l1_logs) for result in record.results[:transaction])
        return self._prove(position.batch, position.logs_before + before + index)

    def prove_message(
        self, block: int, sender: Address, message_hash: Hash32, log_index: int | None = None
    ) -> ProvenLog | None:
        """Prove a message of `sender` in the batch of `block`.

        It is the first one in the batch, or the one whose event has the index `log_index` in the block.
        """
        position = self._batches.position_of_block(block)
        if position is None:
            return None
        suffix = L1_MESSENGER + sender.rjust(32, b"\0") + message_hash
        if log_index is None:
            leaf = next(self._leaves(position.batch, suffix), None)
        else:
            leaf = self._leaf_of_event(block, log_index, suffix)
        return None if leaf is None else self._prove(position.batch, leaf)

    def _prove(self, number: int, leaf: int) -> ProvenLog | None:
        if self._batches.settled(number, SettlementStep.EXECUTE) is None:
            return None
        logs = self._logs(number)
        packed = logs.packed[leaf * PACKED_SIZE : (leaf + 1) * PACKED_SIZE]
        return ProvenLog(number, L2ToL1Log.unpack(packed), logs.tree.prove(leaf))

    def _logs(self, number: int) -> _Logs:
        batch = self._batches.get(number)
        key = (number, b"" if batch is None else batch.message_root)
        logs = self._trees.touch(key)
        if logs is None:
            # A full batch has over a megabyte of logs, which is not read for each proof.
            packed = self._batches.logs(number)
            logs = _Logs(packed, MessageTree.of_logs(packed))
            self._trees.put(key, logs)
        return logs

    def _leaves(self, number: int, suffix: bytes) -> Iterator[int]:
        """Yield the leaves of a batch's logs that end in `suffix`."""
        packed = self._logs(number).packed
        at = packed.find(suffix)
        while at >= 0:
            # The same bytes may also begin in the middle of a log.
            if at % PACKED_SIZE == PACKED_SIZE - len(suffix):
                yield at // PACKED_SIZE
            at = packed.find(suffix, at + 1)

    def _leaf_of_event(self, block: int, log_index: int, suffix: bytes) -> int | None:
        """Return the leaf of the log whose event has the index `log_index` in a block."""
        record, position = self._blocks.get_record(block), self._batches.position_of_block(block)
        if record is None or position is None:
            return None
        for leaf, (event, packed) in enumerate(_logs_with_events(record), position.logs_before):
            if event == log_index:
                return leaf if packed.endswith(suffix) else None
        return None


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
