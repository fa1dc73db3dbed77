"""Proofs for L1 that a log is in a batch, found by its transaction or by its message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.primitives.batches import SettlementStep
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
    from entresol.storage.readers import BlockReader

TREES_KEPT: Final = 8


class _Logs(NamedTuple):
    """The packed logs of a batch, and the tree over them."""

    packed: bytes
    tree: MessageTree


class LogProver:
    """Finds logs in batches that L1 has executed, and proves them.

    Remembers: the logs and trees asked for last, by batch and root, so that a batch that came after
    going back is not taken for the one before. Persists: nothing; trees are made from the stored logs.
    """

    def __init__(self, blocks: BlockReader, batches: BatchTable) -> None:
        self._blocks = blocks
        self._batches = batches
        self._trees: dict[tuple[int, bytes], _Logs] = {}

    def prove_transaction_log(self, transaction_hash: Hash32, index: int = 0) -> ProvenLog | None:
        """Prove the log at `index` among those of a transaction; None if L1 has no such log yet."""
        place = self._blocks.locate_transaction(transaction_hash)
        if place is None:
            return None
        block, position = place
        where = self._batches.position_of_block(block)
        record = self._blocks.get_record(block)
        if where is None or record is None:
            return None
        if not 0 <= index < len(record.results[position].l2_to_l1_logs):
            return None
        before = sum(len(outcome.l2_to_l1_logs) for outcome in record.results[:position])
        return self._prove(where.batch, where.logs_before + before + index)

    def prove_message(
        self, block: int, sender: Address, message_hash: Hash32, log_index: int | None = None
    ) -> ProvenLog | None:
        """Prove a message of `sender` in the batch of `block`.

        It is the first one in the batch, or the one whose event has the index `log_index` in the block.
        """
        where = self._batches.position_of_block(block)
        if where is None:
            return None
        wanted = L1_MESSENGER + sender.rjust(32, b"\0") + message_hash
        if log_index is None:
            leaf = next(self._leaves(where.batch, wanted), None)
        else:
            leaf = self._leaf_of_event(block, log_index, wanted)
        return None if leaf is None else self._prove(where.batch, leaf)

    def _prove(self, number: int, leaf: int) -> ProvenLog | None:
        if self._batches.settled(number, SettlementStep.EXECUTE) is None:
            return None
        logs = self._logs(number)
        packed = logs.packed[leaf * PACKED_SIZE : (leaf + 1) * PACKED_SIZE]
        return ProvenLog(number, L2ToL1Log.unpack(packed), logs.tree.prove(leaf))

    def _logs(self, number: int) -> _Logs:
        batch = self._batches.get(number)
        key = (number, b"" if batch is None else batch.message_root)
        logs = self._trees.pop(key, None)
        if logs is None:
            # A full batch has over a megabyte of logs, which is not read for each proof.
            packed = self._batches.logs(number)
            logs = _Logs(packed, MessageTree.of_logs(packed))
        self._trees[key] = logs
        if len(self._trees) > TREES_KEPT:
            del self._trees[next(iter(self._trees))]
        return logs

    def _leaves(self, number: int, wanted: bytes) -> Iterator[int]:
        """Yield the places of the logs that end in `wanted`: all but the transaction's number."""
        packed = self._logs(number).packed
        at = packed.find(wanted)
        while at >= 0:
            # The same bytes may begin in the midst of a log.
            if at % PACKED_SIZE == PACKED_SIZE - len(wanted):
                yield at // PACKED_SIZE
            at = packed.find(wanted, at + 1)

    def _leaf_of_event(self, block: int, log_index: int, wanted: bytes) -> int | None:
        """Return the place of the log that stands for the event at `log_index` of a block."""
        record, where = self._blocks.get_record(block), self._batches.position_of_block(block)
        if record is None or where is None:
            return None
        for leaf, (event, packed) in enumerate(_messages(record), start=where.logs_before):
            if event == log_index:
                return leaf if packed.endswith(wanted) else None
        return None


def _messages(record: BlockRecord) -> Iterator[tuple[int | None, bytes]]:
    """Yield the L2-to-L1 logs of a block, each with the index of its event if it has one."""
    index = 0
    for outcome in record.results:
        events = [
            index + position
            for position, (address, topics, _) in enumerate(outcome.logs)
            if address == L1_MESSENGER and topics[:1] == (L1_MESSAGE_SENT,) and len(topics) == 3
        ]
        index += len(outcome.logs)
        for number, packed in enumerate(outcome.l2_to_l1_logs):
            yield events[number] if number < len(events) else None, packed
