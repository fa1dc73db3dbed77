"""Records of sealed blocks, and what a response says of a block beside its record: hash, batch, price of blobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol._native import keccak256
from entresol.rpc.render.transactions import BlockInclusion

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.primitives.headers import Header
    from entresol.primitives.records import BlockRecord
    from entresol.rpc.render.transactions import BatchReader
    from entresol.storage.store_view import BlockReader


class SealedRecords:
    """Reads the records of sealed blocks, and where their transactions are included."""

    def __init__(
        self, blocks: BlockReader, batches: BatchReader, blob_base_fee: Callable[[Header], int]
    ) -> None:
        self._blocks = blocks
        self._batches = batches
        self._blob_base_fee = blob_base_fee
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
        price = None if header.excess_blob_gas is None else self._blob_base_fee(header)
        return header, BlockInclusion.of(header, keccak256(record.header_rlp), batch, price)
