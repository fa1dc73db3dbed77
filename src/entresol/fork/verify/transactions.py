"""Transactions of a proven block: what their encoding says, as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from entresol._native import keccak256, recover, rlp_encode
from entresol.errors import EntresolError, Unprovable
from entresol.fork.replay.remote_transactions import NOT_EXECUTED, payload_of, type_of
from entresol.fork.verify.headers import HashedHeader
from entresol.fork.verify.members import Told, hex_of
from entresol.primitives import rlp
from entresol.primitives.transactions import (
    BlobTransaction,
    EthereumTransaction,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
)
from entresol.primitives.values import Address, Hash32


class ProvenTransaction(msgspec.Struct, frozen=True):
    """A transaction that is in the trie of its block."""

    payload: EthereumTransaction
    raw: bytes
    hash: Hash32
    sender: Address
    index: int
    gas_price: int
    """What it pays for a unit of gas in its block."""
    tip: int
    """What of it the producer of the block gets."""
    json: dict[str, Any]

    @property
    def created(self) -> Address | None:
        """The address of the contract that it creates, if it does not call one."""
        if self.payload.to is not None:
            return None
        return Address(
            keccak256(rlp_encode([self.sender, rlp.encode_uint(self.payload.nonce)]))[12:]
        )


def encoded_payload(told: Told, fields: dict[str, Any]) -> tuple[EthereumTransaction, bytes]:
    """Return what a transaction is encoded from, and its bytes in the trie; raise for types that are not Ethereum's."""
    kind = told.read(lambda: type_of(fields))
    payload = told.read(lambda: payload_of(fields))
    if payload is None:
        name = NOT_EXECUTED.get(kind, "which is unknown here")
        raise Unprovable(told.method, f"the block has a transaction of type {kind:#x}, {name}")
    try:
        return payload, payload.encode()
    except (EntresolError, OverflowError, ValueError) as error:
        raise told.lied(f"a transaction cannot be encoded: {error}") from error


def proven_transaction(
    told: Told,
    header: HashedHeader,
    index: int,
    encoded: tuple[EthereumTransaction, bytes],
    given: dict[str, Any],
) -> ProvenTransaction:
    """Return a transaction whose bytes are in the trie; what the remote says of it has to be what they say."""
    payload, raw = encoded
    sender = _sender(told, header, index, payload)
    base_fee = header.quantity("baseFeePerGas")
    tip = min(payload.tip, payload.fee_cap - base_fee)
    found_hash = Hash32(keccak256(raw))
    true = {
        "hash": str(found_hash),
        "blockHash": str(header.hash),
        "blockNumber": hex(header.number),
        "transactionIndex": hex(index),
        "blockTimestamp": hex(header.quantity("timestamp")),
        "from": str(sender),
        "gasPrice": hex(base_fee + tip),
        **_payload_json(payload),
    }
    json = told.agreed(f"transaction {found_hash}", given, true)
    return ProvenTransaction(payload, raw, found_hash, sender, index, base_fee + tip, tip, json)


def _sender(told: Told, header: HashedHeader, index: int, payload: EthereumTransaction) -> Address:
    signature = payload.r.to_bytes(32, "big") + payload.s.to_bytes(32, "big")
    try:
        return Address(recover(payload.signing_hash(), signature + bytes([payload.y_parity])))
    except (EntresolError, ValueError, OverflowError):
        raise Unprovable(
            told.method,
            f"transaction {index} of block {header.number} has no signature that shows who sent it",
        ) from None


def _payload_json(payload: EthereumTransaction) -> dict[str, Any]:
    """Return the members that the encoding has."""
    members: dict[str, Any] = {
        "type": hex(payload.type),
        "nonce": hex(payload.nonce),
        "gas": hex(payload.gas_limit),
        "to": None if payload.to is None else str(payload.to),
        "value": hex(payload.value),
        "input": hex_of(payload.data),
        "v": hex(payload.v),
        "r": hex(payload.r),
        "s": hex(payload.s),
    }
    if payload.chain_id is not None:
        members["chainId"] = hex(payload.chain_id)
    if not isinstance(payload, LegacyTransaction):
        members |= {
            "yParity": hex(payload.y_parity),
            "accessList": [
                {"address": str(it.account), "storageKeys": [str(key) for key in it.slots]}
                for it in payload.access_list
            ],
        }
    if isinstance(payload, FeeMarketTransaction | BlobTransaction | SetCodeTransaction):
        members |= {
            "maxFeePerGas": hex(payload.max_fee_per_gas),
            "maxPriorityFeePerGas": hex(payload.max_priority_fee_per_gas),
        }
    if isinstance(payload, BlobTransaction):
        members |= {
            "maxFeePerBlobGas": hex(payload.max_fee_per_blob_gas),
            "blobVersionedHashes": [str(blob_hash) for blob_hash in payload.blob_hashes],
        }
    if isinstance(payload, SetCodeTransaction):
        members["authorizationList"] = [
            {
                "chainId": hex(authorization.chain_id),
                "address": str(authorization.address),
                "nonce": hex(authorization.nonce),
                "yParity": hex(authorization.y_parity),
                "r": hex(authorization.r),
                "s": hex(authorization.s),
            }
            for authorization in payload.authorizations
        ]
    return members
