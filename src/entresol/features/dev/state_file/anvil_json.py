"""The values of a state file as anvil has them in JSON, read and written: headers, transactions and code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from entresol.chain.genesis.geth_json import optional, read_data, read_number, read_object, required
from entresol.chain.transaction_json import payload_fields, read_payload
from entresol.errors import MalformedValue
from entresol.primitives.headers import EMPTY_OMMERS, Header
from entresol.primitives.transactions import (
    AccessListTransaction,
    BlobTransaction,
    EthereumTransaction,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
    Transaction,
)
from entresol.primitives.values import Address, Bloom, Hash32, Nonce8, Quantity64

_TAGS: Final = {
    "Legacy": LegacyTransaction.type,
    "EIP2930": AccessListTransaction.type,
    "EIP1559": FeeMarketTransaction.type,
    "EIP4844": BlobTransaction.type,
    "EIP7702": SetCodeTransaction.type,
}
"""Before 1.6, anvil has a transaction as the one member of an object, under the name of its type."""


def transaction_fields(transaction: Transaction) -> dict[str, Any]:
    """Return a transaction as RPC shows it, without its block."""
    return payload_fields(transaction.payload) | {"hash": str(transaction.hash)}


def read_tagged_payload(item: dict[str, object]) -> EthereumTransaction:
    """Read a transaction of any version of anvil."""
    for tag in _TAGS.keys() & item:
        item = required(item, tag, read_object) | {"type": _TAGS[tag]}
    return read_payload(item)


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
