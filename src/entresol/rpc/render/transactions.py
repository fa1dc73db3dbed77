"""Transaction objects of every type, pending or in a block."""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from entresol.primitives.headers import Header
from entresol.primitives.transactions import (
    Access,
    Authorization,
    BlobTransaction,
    LegacyTransaction,
    Payload,
    PriorityTransaction,
    Transaction,
    ZkTransaction,
)
from entresol.rpc.render.hex import array, data, quantity

_PENDING: Final = (
    '"blockHash":null,"blockNumber":null,"l1BatchNumber":null,'
    '"transactionIndex":null,"l1BatchTxIndex":null,"blockTimestamp":null'
)

# Clients throw where there is no signature, so a transaction without one has a signature of zeros.
_UNSIGNED: Final = '"yParity":"0x0","v":"0x0","r":"0x0","s":"0x0"'

_SIGNATURE_SIZE: Final = 65


class BatchInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The batch of a block."""

    number: int
    timestamp: int
    first_tx_number: int
    """The number of the block's first transaction in L2-to-L1 logs: 0, except in batches of earlier versions."""


class BatchReader(Protocol):
    """Sealed batches by block."""

    def batch_of(self, block: int) -> BatchInfo | None:
        """Return the batch of a block, once it is sealed."""

    def last_block(self) -> int | None:
        """Return the last block that is in a sealed batch."""


class NoBatches:
    """The batches of a chain that does not settle: none."""

    def batch_of(self, block: int) -> BatchInfo | None:  # noqa: ARG002 - the interface has it
        """Return none."""
        return None

    def last_block(self) -> int | None:
        """Return none."""
        return None


class BlockInclusion:
    """A sealed block and its batch, as transactions, receipts and logs name it.

    `fields` are the JSON members that they share, written once for a block.
    """

    __slots__ = ("base_fee", "batch", "blob_base_fee", "fields", "hash", "number", "timestamp")

    def __init__(
        self,
        number: int,
        block_hash: bytes,
        timestamp: int,
        base_fee: int,
        batch: BatchInfo | None,
        blob_base_fee: int | None = None,
    ) -> None:
        self.number = number
        self.hash = block_hash
        self.timestamp = timestamp
        self.base_fee = base_fee
        self.blob_base_fee = blob_base_fee
        self.batch = batch
        self.fields = (
            f'"blockHash":"0x{block_hash.hex()}","blockNumber":"{hex(number)}",'
            f'"l1BatchNumber":{quantity(None if batch is None else batch.number)}'
        )

    @classmethod
    def of(
        cls,
        header: Header,
        block_hash: bytes,
        batch: BatchInfo | None,
        blob_base_fee: int | None = None,
    ) -> BlockInclusion:
        """Return the inclusion in the block with this header; `blob_base_fee` is None if it has no blob gas."""
        base_fee = header.base_fee_per_gas
        return cls(header.number, block_hash, header.timestamp, base_fee, batch, blob_base_fee)

    def tx_number(self, index: int) -> int | None:
        """Return the number that L2-to-L1 logs have for the transaction at `index` in the block, once it has a batch."""
        return None if self.batch is None else self.batch.first_tx_number + index


def effective_gas_price(payload: Payload, base_fee: int) -> int:
    """Return the effective gas price in a block with this base fee."""
    if isinstance(payload, PriorityTransaction):
        return payload.max_fee_per_gas
    return min(payload.fee_cap, base_fee + payload.tip)


def priority_fee(payload: Payload) -> int:
    """Return the priority fee that a transaction offers, even if its type never pays one."""
    if isinstance(payload, ZkTransaction):
        return payload.max_priority_fee_per_gas
    return payload.tip


def transaction_json(
    transaction: Transaction, chain_id: int, inclusion: BlockInclusion | None = None, index: int = 0
) -> str:
    """Return a transaction; without an inclusion it is pending."""
    payload = transaction.payload
    if inclusion is None:
        location, price = _PENDING, payload.fee_cap
    else:
        location = (
            f'{inclusion.fields},"transactionIndex":"{hex(index)}",'
            f'"l1BatchTxIndex":{quantity(inclusion.tx_number(index))},'
            f'"blockTimestamp":"{hex(inclusion.timestamp)}"'
        )
        price = effective_gas_price(payload, inclusion.base_fee)
    return (
        f'{{"hash":"0x{transaction.hash.hex()}","type":"{hex(payload.type)}",{location},'
        f'"from":"0x{transaction.sender.hex()}","to":{data(payload.to)},'
        f'"value":"{hex(payload.value)}","gas":"{hex(payload.gas_limit)}","gasPrice":"{hex(price)}",'
        f'"input":"0x{payload.data.hex()}",{_details(payload, chain_id)}}}'
    )


def _details(payload: Payload, chain_id: int) -> str:
    """Return the members that differ from type to type."""
    if isinstance(payload, LegacyTransaction):
        # Without a chain id it is null, because clients recover the sender from `v` and the chain id.
        return (
            f'"nonce":"{hex(payload.nonce)}","chainId":{quantity(payload.chain_id)},'
            f'"v":"{hex(payload.v)}","r":"{hex(payload.r)}","s":"{hex(payload.s)}"'
        )
    if isinstance(payload, PriorityTransaction):
        # What L1 calls its nonce is its id in the priority queue; the sender on L2 used none.
        return f'"nonce":"0x0","chainId":"{hex(chain_id)}",{_caps(payload)},{_UNSIGNED}'
    head = f'"nonce":"{hex(payload.nonce)}","chainId":"{hex(payload.chain_id)}"'
    if isinstance(payload, ZkTransaction):
        return f"{head},{_caps(payload)},{_zk_signature(payload)}"
    lists = f'"accessList":{_access_list(payload.access_list)}'
    if payload.type > 1:
        lists += f",{_caps(payload)}"
    if isinstance(payload, BlobTransaction):
        hashes = array(map(data, payload.blob_hashes))
        cap = hex(payload.max_fee_per_blob_gas)
        lists += f',"maxFeePerBlobGas":"{cap}","blobVersionedHashes":{hashes}'
    if payload.type == 4:
        lists += f',"authorizationList":{_authorization_list(payload.authorizations)}'
    signature = _signature(payload.y_parity, payload.r, payload.s)
    return f"{head},{lists},{signature}"


def _caps(payload: Payload) -> str:
    """Return the fee caps; types with a gas price have none, because web3.py would take them for type 2."""
    tip = priority_fee(payload)
    return f'"maxFeePerGas":"{hex(payload.fee_cap)}","maxPriorityFeePerGas":"{hex(tip)}"'


def _signature(y_parity: int, r: int, s: int) -> str:
    return f'"yParity":"{hex(y_parity)}","v":"{hex(y_parity)}","r":"{hex(r)}","s":"{hex(s)}"'


def _zk_signature(payload: ZkTransaction) -> str:
    signature = payload.signature
    if len(signature) != _SIGNATURE_SIZE:
        return _UNSIGNED
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
    # Some clients write the last byte as 0 or 1, others as 27 or 28.
    return _signature(signature[64] % 27, r, s)


def _access_list(accesses: tuple[Access, ...]) -> str:
    return array(
        f'{{"address":"0x{it.account.hex()}","storageKeys":{array(map(data, it.slots))}}}'
        for it in accesses
    )


def _authorization_list(authorizations: tuple[Authorization, ...]) -> str:
    return array(
        f'{{"chainId":"{hex(it.chain_id)}","address":"0x{it.address.hex()}",'
        f'"nonce":"{hex(it.nonce)}","yParity":"{hex(it.y_parity)}","r":"{hex(it.r)}","s":"{hex(it.s)}"}}'
        for it in authorizations
    )
