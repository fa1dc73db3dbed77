"""Block and header objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from entresol.primitives import rlp
from entresol.primitives.headers import Header
from entresol.primitives.records import BlockRecord, transaction_type
from entresol.rpc.render.hex import array, data, quantity
from entresol.rpc.render.transactions import BatchInfo, BlockInclusion, transaction_json

_NO_OMMERS_SIZE: Final = 1
_NO_WITHDRAWALS_SIZE: Final = 1


def header_json(header: Header, block_hash: bytes | None) -> str:
    """Return a header; that of the pending block has no hash."""
    return f"{{{_header_fields(header, block_hash)}}}"


def block_json(
    record: BlockRecord, header: Header, inclusion: BlockInclusion, transactions: Iterable[str]
) -> str:
    """Return a sealed block; `transactions` are JSON already."""
    return _block(record, header, inclusion.hash, inclusion.batch, transactions)


def pending_block_json(record: BlockRecord, header: Header, transactions: Iterable[str]) -> str:
    """Return the pending block, which has no hash yet."""
    return _block(record, header, None, None, transactions)


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


def size_of(record: BlockRecord, header: Header) -> int:
    """Return the size of the block in RLP, without encoding it."""
    body = rlp.joined_size(sum(_item_size(raw) for raw, _ in record.transactions))
    withdrawals = 0 if header.withdrawals_root is None else _NO_WITHDRAWALS_SIZE
    return rlp.joined_size(len(record.header_rlp) + body + _NO_OMMERS_SIZE + withdrawals)


def _block(
    record: BlockRecord,
    header: Header,
    block_hash: bytes | None,
    batch: BatchInfo | None,
    transactions: Iterable[str],
) -> str:
    return (
        f'{{{_header_fields(header, block_hash)},"totalDifficulty":"0x0",'
        f'"size":"{hex(size_of(record, header))}","transactions":{array(transactions)},'
        f'"uncles":[],"sealFields":[],'
        f'"l1BatchNumber":{quantity(None if batch is None else batch.number)},'
        f'"l1BatchTimestamp":{quantity(None if batch is None else batch.timestamp)}}}'
    )


def _header_fields(header: Header, block_hash: bytes | None) -> str:
    return (
        f'"number":"{hex(header.number)}","hash":{data(block_hash)},'
        f'"parentHash":"0x{header.parent_hash.hex()}","nonce":"0x{header.nonce.hex()}",'
        f'"sha3Uncles":"0x{header.ommers_hash.hex()}","logsBloom":"0x{header.logs_bloom.hex()}",'
        f'"transactionsRoot":"0x{header.transactions_root.hex()}",'
        f'"stateRoot":"0x{header.state_root.hex()}",'
        f'"receiptsRoot":"0x{header.receipts_root.hex()}","miner":"0x{header.beneficiary.hex()}",'
        f'"difficulty":"{hex(header.difficulty)}","extraData":"0x{header.extra_data.hex()}",'
        f'"gasLimit":"{hex(header.gas_limit)}","gasUsed":"{hex(header.gas_used)}",'
        f'"timestamp":"{hex(header.timestamp)}","mixHash":"0x{header.mix_hash.hex()}",'
        f'"baseFeePerGas":"{hex(header.base_fee_per_gas)}"{_later_fields(header)}'
    )


def _later_fields(header: Header) -> str:
    """Return the fields after London, which an L1 has; its blocks have no withdrawals."""
    if header.withdrawals_root is None:
        return ""
    fields = f',"withdrawals":[],"withdrawalsRoot":{data(header.withdrawals_root)}'
    if header.blob_gas_used is not None:
        fields += (
            f',"blobGasUsed":{quantity(header.blob_gas_used)}'
            f',"excessBlobGas":{quantity(header.excess_blob_gas)}'
            f',"parentBeaconBlockRoot":{data(header.parent_beacon_block_root)}'
        )
    if header.requests_hash is not None:
        fields += f',"requestsHash":{data(header.requests_hash)}'
    return fields


def _item_size(raw: bytes) -> int:
    """Return the size of a transaction as a list item: a legacy one is a list already."""
    return len(raw) if transaction_type(raw) == 0 else rlp.joined_size(len(raw))
