"""Records of sealed blocks, and what a response says of a block beside its record: hash, batch, price of blobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.rpc.render.chain_objects import BatchInfo, BlockInclusion

if TYPE_CHECKING:
    from entresol.primitives.headers import Header
    from entresol.primitives.records import BlockRecord
    from entresol.rpc.render.chain_objects import BatchReader
    from entresol.storage.batch_table import BatchTable
    from entresol.storage.store_view import BlockReader


class SealedRecords:
    """Reads the records of sealed blocks, and where their transactions are included."""

    def __init__(self, blocks: BlockReader, batches: BatchReader) -> None:
        self._blocks = blocks
        self._batches = batches
        self.get = blocks.get_record
        """Return the record of a block, or None."""

    def locate(self, transaction_hash: bytes) -> tuple[BlockRecord, int] | None:
        """Return the record of the block that a transaction is in, and its index there."""
        location = self._blocks.locate_transaction(transaction_hash)
        record = None if location is None else self._blocks.get_record(location.block_number)
        if location is None or record is None:
            return None
        return record, location.transaction_index

    def inclusion(self, record: BlockRecord) -> tuple[Header, BlockInclusion]:
        """Return the header of a record, and what its transactions have in common."""
        header = record.header()
        batch = self._batches.batch_of(header.number)
        return header, BlockInclusion.of(header, record.hash(), batch)


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
        return BatchInfo(
            number=batch.number,
            timestamp=batch.first_timestamp,
            first_tx_number=position.first_tx_number,
        )

    def last_block(self) -> int | None:
        """Return the last block of the last sealed batch, or None."""
        last = self._batches.last()
        return None if last is None else last.last_block
