"""The values of a state file as anvil has them in JSON, read and written: headers, transactions and code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from entresol.chain.genesis.geth_json import optional, read_data, read_number, read_object, required
from entresol.errors import MalformedValue
from entresol.primitives.headers import EMPTY_OMMERS, Header
from entresol.primitives.transactions import (
    Access,
    AccessListTransaction,
    Authorization,
    BlobTransaction,
    EthereumTransaction,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
    Transaction,
)
from entresol.primitives.values import Address, Bloom, Hash32, Nonce8, Quantity64

_KINDS: Final[dict[int, Any]] = {
    kind.type: kind
    for kind in (
        LegacyTransaction, AccessListTransaction, FeeMarketTransaction, BlobTransaction,
        SetCodeTransaction,
    )
}  # fmt: skip
_TAGS: Final = {
    "Legacy": LegacyTransaction.type,
    "EIP2930": AccessListTransaction.type,
    "EIP1559": FeeMarketTransaction.type,
    "EIP4844": BlobTransaction.type,
    "EIP7702": SetCodeTransaction.type,
}
"""Before 1.6, anvil has a transaction as the one member of an object, under the name of its type."""
_PRICED: Final = (LegacyTransaction.type, AccessListTransaction.type)
_FIRST_V: Final = 27
_FIRST_PROTECTED_V: Final = 35


def transaction_fields(transaction: Transaction) -> dict[str, Any]:
    """Return a transaction as RPC shows it, without its block."""
    payload = transaction.payload
    fields: dict[str, Any] = {
        "type": hex(payload.type),
        "chainId": None if payload.chain_id is None else hex(payload.chain_id),
        "nonce": hex(payload.nonce),
        "gas": hex(payload.gas_limit),
        "to": None if payload.to is None else str(payload.to),
        "value": hex(payload.value),
        "input": "0x" + payload.data.hex(),
        "hash": str(transaction.hash),
    }
    if payload.type in _PRICED:
        fields["gasPrice"] = hex(payload.fee_cap)
    else:
        fields |= {"maxFeePerGas": hex(payload.fee_cap), "maxPriorityFeePerGas": hex(payload.tip)}
    if payload.type != LegacyTransaction.type:
        fields["accessList"] = [_access(access) for access in payload.access_list]
    if isinstance(payload, BlobTransaction):
        fields["maxFeePerBlobGas"] = hex(payload.max_fee_per_blob_gas)
        fields["blobVersionedHashes"] = [str(blob_hash) for blob_hash in payload.blob_hashes]
    if payload.type == SetCodeTransaction.type:
        fields["authorizationList"] = [
            _authorization(authorization) for authorization in payload.authorizations
        ]
    if isinstance(payload, EthereumTransaction):
        fields |= {"r": hex(payload.r), "s": hex(payload.s), "v": hex(payload.v)}
        if payload.type != LegacyTransaction.type:
            fields["yParity"] = hex(payload.y_parity)
    return {key: value for key, value in fields.items() if key == "to" or value is not None}


def read_payload(item: dict[str, object]) -> EthereumTransaction:
    """Read a transaction of Ethereum's types; blobs themselves are left out, as in a block."""
    kind = optional(item, "type", read_number, 0)
    for tag in _TAGS.keys() & item:
        kind, item = _TAGS[tag], required(item, tag, read_object)
    if kind not in _KINDS:
        raise MalformedValue(f"transactions of type {kind:#x} are not supported", field="type")
    fields: dict[str, Any] = {
        "nonce": required(item, "nonce", read_number),
        "gas_limit": required(item, "gas", read_number),
        "to": optional(item, "to", Address.parse, None),
        "value": optional(item, "value", read_number, 0),
        "data": optional(item, "input", read_data, b""),
        "r": required(item, "r", read_number),
        "s": required(item, "s", read_number),
    }
    if kind in _PRICED:
        fields["gas_price"] = required(item, "gasPrice", read_number)
    else:
        fields["max_fee_per_gas"] = required(item, "maxFeePerGas", read_number)
        fields["max_priority_fee_per_gas"] = required(item, "maxPriorityFeePerGas", read_number)
    if kind == LegacyTransaction.type:
        fields |= _legacy_signature(item)
    else:
        parity = "v" if item.get("yParity") is None else "yParity"
        fields["y_parity"] = required(item, parity, read_number)
        fields["chain_id"] = required(item, "chainId", read_number)
        fields["access_list"] = required(item, "accessList", _read_access_list)
    if kind == BlobTransaction.type:
        fields["max_fee_per_blob_gas"] = required(item, "maxFeePerBlobGas", read_number)
        hashes = required(item, "blobVersionedHashes", read_list)
        fields["blob_hashes"] = tuple(map(Hash32.parse, hashes))
    if kind == SetCodeTransaction.type:
        fields["authorizations"] = required(item, "authorizationList", _read_authorizations)
    payload: EthereumTransaction = _KINDS[kind](**fields)
    return payload


def _legacy_signature(item: dict[str, object]) -> dict[str, int | None]:
    v = required(item, "v", read_number)
    if v >= _FIRST_PROTECTED_V:
        chain_id, parity = divmod(v - _FIRST_PROTECTED_V, 2)
        return {"chain_id": chain_id, "y_parity": parity}
    # An unsigned one of an impersonated account has 0.
    if v < _FIRST_V:
        return {"chain_id": optional(item, "chainId", read_number, 0) or None, "y_parity": v & 1}
    return {"chain_id": None, "y_parity": v - _FIRST_V}


def _access(access: Access) -> dict[str, Any]:
    return {"address": str(access.account), "storageKeys": [str(slot) for slot in access.slots]}


def _authorization(authorization: Authorization) -> dict[str, str]:
    return {
        "chainId": hex(authorization.chain_id),
        "address": str(authorization.address),
        "nonce": hex(authorization.nonce),
        "yParity": hex(authorization.y_parity),
        "r": hex(authorization.r),
        "s": hex(authorization.s),
    }


def _read_access_list(value: object) -> tuple[Access, ...]:
    return tuple(
        Access(
            required(item, "address", Address.parse),
            tuple(map(Hash32.parse, required(item, "storageKeys", read_list))),
        )
        for item in read_list(value)
    )


def _read_authorizations(value: object) -> tuple[Authorization, ...]:
    return tuple(
        Authorization(
            required(item, "chainId", read_number),
            required(item, "address", Address.parse),
            required(item, "nonce", read_number),
            required(item, "yParity", read_number),
            required(item, "r", read_number),
            required(item, "s", read_number),
        )
        for item in read_list(value)
    )


def read_list(value: object) -> list[Any]:
    """Read an array."""
    if not isinstance(value, list):
        raise MalformedValue("should be an array")
    return value


Reader = Callable[[object], Any]

_REQUIRED: Final[dict[str, tuple[str, Reader]]] = {
    "parentHash": ("parent_hash", Hash32.parse),
    "stateRoot": ("state_root", Hash32.parse),
    "transactionsRoot": ("transactions_root", Hash32.parse),
    "receiptsRoot": ("receipts_root", Hash32.parse),
    "logsBloom": ("logs_bloom", Bloom.parse),
    "number": ("number", read_number),
    "gasLimit": ("gas_limit", read_number),
    "gasUsed": ("gas_used", read_number),
    "timestamp": ("timestamp", read_number),
}
_OPTIONAL: Final[dict[str, tuple[str, Reader, Any]]] = {
    "sha3Uncles": ("ommers_hash", Hash32.parse, EMPTY_OMMERS),
    "miner": ("beneficiary", Address.parse, Address.zero()),
    "difficulty": ("difficulty", read_number, 0),
    "extraData": ("extra_data", read_data, b""),
    "mixHash": ("mix_hash", Hash32.parse, Hash32.zero()),
    "nonce": ("nonce", Nonce8.parse, Nonce8.zero()),
    "baseFeePerGas": ("base_fee_per_gas", lambda value: Quantity64(read_number(value)), 0),
    "withdrawalsRoot": ("withdrawals_root", Hash32.parse, None),
    "blobGasUsed": ("blob_gas_used", read_number, None),
    "excessBlobGas": ("excess_blob_gas", read_number, None),
    "parentBeaconBlockRoot": ("parent_beacon_block_root", Hash32.parse, None),
    "requestsHash": ("requests_hash", Hash32.parse, None),
}


def header_fields(header: Header) -> dict[str, str]:
    """Return a header as RPC shows it, without its hash."""
    names = {key: field for key, (field, *_) in (_REQUIRED | _OPTIONAL).items()}
    values = ((key, getattr(header, field)) for key, field in names.items())
    return {key: _text(value) for key, value in values if value is not None}


def read_header(item: dict[str, object]) -> Header:
    """Read a header of any fork from London on; numbers that no header can have are rejected."""
    fields = {field: required(item, key, read) for key, (field, read) in _REQUIRED.items()}
    for key, (field, read, default) in _OPTIONAL.items():
        fields[field] = optional(item, key, read, default)
    return Header.decode(Header(**fields).encode())


def _text(value: int | bytes) -> str:
    return hex(value) if isinstance(value, int) else "0x" + value.hex()


_DELEGATION: Final = b"\xef\x01\x00"
_PADDING: Final = bytes(33)
"""revm wants code to end with STOP, also after a PUSH32 that is cut off."""

_JUMPDEST: Final = 0x5B
_PUSH1: Final = 0x60
_PUSH32: Final = 0x7F


def bytecode_fields(code: bytes) -> dict[str, Any]:
    """Return code as revm writes it: analyzed, or as a delegation (EIP-7702)."""
    if code.startswith(_DELEGATION):
        address = "0x" + code[len(_DELEGATION) :].hex()
        return {"Eip7702": {"delegated_address": address, "version": 0, "raw": "0x" + code.hex()}}
    padded = code + _PADDING
    table = {
        "order": "bitvec::order::Lsb0",
        "head": {"width": 8, "index": 0},
        "bits": len(padded),
        "data": list(_jump_table(padded)),
    }
    return {
        "LegacyAnalyzed": {
            "bytecode": "0x" + padded.hex(),
            "original_len": len(code),
            "jump_table": table,
        }
    }


def read_bytecode(value: object) -> bytes:
    """Read code as revm writes it."""
    if isinstance(value, str):
        return read_data(value)
    for name, fields in read_object(value).items():
        item = read_object(fields)
        if name == "LegacyAnalyzed":
            length = required(item, "original_len", read_number)
            return required(item, "bytecode", read_data)[:length]
        if "raw" in item:
            return required(item, "raw", read_data)
    raise MalformedValue("is not bytecode that is known here")


def _jump_table(code: bytes) -> bytes:
    """Return a bit for each byte of code that is a jump destination."""
    table, at = bytearray(-(-len(code) // 8)), 0
    while at < len(code):
        opcode = code[at]
        if opcode == _JUMPDEST:
            table[at // 8] |= 1 << at % 8
        at += opcode - _PUSH1 + 2 if _PUSH1 <= opcode <= _PUSH32 else 1
    return bytes(table)
