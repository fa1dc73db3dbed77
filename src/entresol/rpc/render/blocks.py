"""Block and header objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from entresol import _native
from entresol.errors import MalformedValue
from entresol.primitives.headers import Header
from entresol.primitives.records import LAYOUT, BlockRecord
from entresol.rpc.render.hex import array
from entresol.rpc.render.transactions import BatchInfo, BlockInclusion, transaction_json


def header_json(header: Header, block_hash: bytes | None) -> bytes:
    """Return a header; that of the pending block has no hash."""
    return _native.header_json(header.encode(), block_hash)


def stored_header_json(stored: bytes) -> bytes:
    """Return the header of a stored record."""
    text = LAYOUT.header_json(stored)
    if text is None:
        # Reports what is wrong with the record, or with the header.
        BlockRecord.decode(stored).header()
        raise MalformedValue("a header is not readable")
    return text


def stored_block_json(stored: bytes, batch: BatchInfo | None) -> bytes:
    """Return the block of a stored record, with the hashes of its transactions."""
    text = LAYOUT.block_json(stored, _place(batch))
    if text is not None:
        return text
    record = BlockRecord.decode(stored)
    return _block(record, record.hash(), batch, transaction_hashes(record))


def block_json(
    record: BlockRecord, inclusion: BlockInclusion, transactions: Iterable[str]
) -> bytes:
    """Return a sealed block; `transactions` are JSON already."""
    return _block(record, inclusion.hash, inclusion.batch, transactions)


def pending_block_json(record: BlockRecord, transactions: Iterable[str]) -> bytes:
    """Return the pending block, which has no hash yet."""
    return _block(record, None, None, transactions)


def full_transactions(
    record: BlockRecord, chain_id: int, inclusion: BlockInclusion | None
) -> Iterator[str]:
    """Yield the transactions of a block, as JSON."""
    for index in range(len(record.transactions)):
        yield transaction_json(record.transaction(index), chain_id, inclusion, index)


def transaction_hashes(record: BlockRecord) -> Iterator[str]:
    """Yield the hashes of the transactions of a block, as JSON."""
    for index in range(len(record.transactions)):
        yield f'"{record.transaction_hash(index)}"'


def _block(
    record: BlockRecord,
    block_hash: bytes | None,
    batch: BatchInfo | None,
    transactions: Iterable[str],
) -> bytes:
    return _native.block_json(
        record.header_rlp,
        [raw for raw, _ in record.transactions],
        block_hash=block_hash,
        batch=_place(batch),
        transactions=array(transactions).encode(),
    )


def _place(batch: BatchInfo | None) -> tuple[int, int] | None:
    return None if batch is None else (batch.number, batch.timestamp)
