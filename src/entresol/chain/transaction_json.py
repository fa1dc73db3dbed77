"""Transactions of Ethereum's types in JSON, read and written as nodes show them."""

from __future__ import annotations

from typing import Any, Final

from entresol.chain.genesis.geth_json import (
    optional,
    read_data,
    read_number,
    read_object,
    required,
)
from entresol.errors import MalformedValue
from entresol.primitives.transactions import (
    Access,
    AccessListTransaction,
    Authorization,
    BlobTransaction,
    EthereumTransaction,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
)
from entresol.primitives.transactions.envelope import Payload
from entresol.primitives.values import Address, Hash32

KINDS: Final[dict[int, Any]] = {
    kind.type: kind
    for kind in (
        *(LegacyTransaction, AccessListTransaction, FeeMarketTransaction),
        *(BlobTransaction, SetCodeTransaction),
    )
}
_PRICED: Final = (LegacyTransaction.type, AccessListTransaction.type)
_FIRST_V: Final = 27
_FIRST_PROTECTED_V: Final = 35


def payload_fields(payload: Payload) -> dict[str, Any]:
    """Return the members that the encoding of a transaction has."""
    is_legacy = payload.type == LegacyTransaction.type
    fields: dict[str, Any] = {
        "type": hex(payload.type),
        "nonce": hex(payload.nonce),
        "gas": hex(payload.gas_limit),
        "to": None if payload.to is None else str(payload.to),
        "value": hex(payload.value),
        "input": f"0x{payload.data.hex()}",
    }
    if payload.chain_id is not None:
        fields["chainId"] = hex(payload.chain_id)
    if payload.type in _PRICED:
        fields["gasPrice"] = hex(payload.fee_cap)
    else:
        fields |= {"maxFeePerGas": hex(payload.fee_cap), "maxPriorityFeePerGas": hex(payload.tip)}
    if not is_legacy:
        fields["accessList"] = [
            {"address": str(access.account), "storageKeys": [str(slot) for slot in access.slots]}
            for access in payload.access_list
        ]
    if isinstance(payload, BlobTransaction):
        fields["maxFeePerBlobGas"] = hex(payload.max_fee_per_blob_gas)
        fields["blobVersionedHashes"] = [str(blob_hash) for blob_hash in payload.blob_hashes]
    if isinstance(payload, SetCodeTransaction):
        fields["authorizationList"] = [
            {
                "chainId": hex(given.chain_id),
                "address": str(given.address),
                "nonce": hex(given.nonce),
                "yParity": hex(given.y_parity),
                "r": hex(given.r),
                "s": hex(given.s),
            }
            for given in payload.authorizations
        ]
    if isinstance(payload, EthereumTransaction):
        fields |= {"r": hex(payload.r), "s": hex(payload.s), "v": hex(payload.v)}
        if not is_legacy:
            fields["yParity"] = hex(payload.y_parity)
    return fields


def read_payload(item: dict[str, Any]) -> EthereumTransaction:
    """Read a transaction; one that nobody has signed lacks its signature, and blobs are left out."""
    kind = optional(item, "type", read_number, 0)
    if kind not in KINDS:
        raise MalformedValue(f"transactions of type {kind:#x} are not supported", field="type")
    v = optional(item, "v", read_number, 0)
    fields: dict[str, Any] = {
        "nonce": required(item, "nonce", read_number),
        "gas_limit": required(item, "gas", read_number),
        "to": optional(item, "to", Address.parse, None),
        "value": optional(item, "value", read_number, 0),
        "data": optional(item, "input" if "input" in item else "data", read_data, b""),
        "y_parity": optional(item, "yParity", read_number, _parity(v)),
        "r": optional(item, "r", read_number, 0),
        "s": optional(item, "s", read_number, 0),
    }
    if kind in _PRICED:
        fields["gas_price"] = required(item, "gasPrice", read_number)
    else:
        fields["max_fee_per_gas"] = required(item, "maxFeePerGas", read_number)
        fields["max_priority_fee_per_gas"] = required(item, "maxPriorityFeePerGas", read_number)
    if kind == LegacyTransaction.type:
        fields["chain_id"] = _legacy_chain_id(item, v)
    else:
        fields["chain_id"] = required(item, "chainId", read_number)
        fields["access_list"] = optional(
            item, "accessList", _read_access_list, tuple[Access, ...]()
        )
    if kind == BlobTransaction.type:
        fields["max_fee_per_blob_gas"] = required(item, "maxFeePerBlobGas", read_number)
        hashes = required(item, "blobVersionedHashes", read_list)
        fields["blob_hashes"] = tuple(map(Hash32.parse, hashes))
    if kind == SetCodeTransaction.type:
        fields["authorizations"] = required(item, "authorizationList", _read_authorizations)
    payload: EthereumTransaction = KINDS[kind](**fields)
    return payload


def _parity(v: int) -> int:
    if v >= _FIRST_PROTECTED_V:
        return (v - _FIRST_PROTECTED_V) % 2
    return (v - _FIRST_V if v >= _FIRST_V else v) % 2


def _legacy_chain_id(item: dict[str, Any], v: int) -> int | None:
    """Return the chain that a signature is of; an unsigned transaction may say it."""
    if v >= _FIRST_PROTECTED_V:
        return (v - _FIRST_PROTECTED_V) // 2
    return None if v >= _FIRST_V else optional(item, "chainId", read_number, 0) or None


def _read_access_list(value: object) -> tuple[Access, ...]:
    return tuple(
        Access(
            required(item, "address", Address.parse),
            tuple(map(Hash32.parse, required(item, "storageKeys", read_list))),
        )
        for item in map(read_object, read_list(value))
    )


def _read_authorizations(value: object) -> tuple[Authorization, ...]:
    return tuple(
        Authorization(
            required(item, "chainId", read_number),
            required(item, "address", Address.parse),
            required(item, "nonce", read_number),
            required(item, "yParity" if "yParity" in item else "v", read_number),
            required(item, "r", read_number),
            required(item, "s", read_number),
        )
        for item in map(read_object, read_list(value))
    )


def read_list(value: object) -> list[Any]:
    """Read an array."""
    if not isinstance(value, list):
        raise MalformedValue("should be an array")
    return value
