"""Headers of state files: their fields as JSON has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from entresol.chain.genesis.geth_json import optional, read_data, read_number, required
from entresol.primitives.headers import EMPTY_OMMERS, Header
from entresol.primitives.values import Address, Bloom, Hash32, Nonce8, Quantity64

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
    "baseFeePerGas": ("base_fee_per_gas", lambda it: Quantity64(read_number(it)), 0),
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
