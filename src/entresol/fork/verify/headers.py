"""Headers of the remote against their hashes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from entresol._native import keccak256, rlp_encode
from entresol.errors import MalformedValue, ProofsUnavailable
from entresol.fork import results
from entresol.fork.results import DescribedBlock
from entresol.primitives import rlp
from entresol.primitives.values import Address, Bloom, Data, Hash32, Nonce8

_FIELDS: Final[Mapping[str, Callable[[object], bytes | int]]] = {
    "parentHash": Hash32.parse,
    "sha3Uncles": Hash32.parse,
    "miner": Address.parse,
    "stateRoot": Hash32.parse,
    "transactionsRoot": Hash32.parse,
    "receiptsRoot": Hash32.parse,
    "logsBloom": Bloom.parse,
    "difficulty": results.balance,
    "number": results.nonce,
    "gasLimit": results.nonce,
    "gasUsed": results.nonce,
    "timestamp": results.nonce,
    "extraData": Data.parse,
    "mixHash": Hash32.parse,
    "nonce": Nonce8.parse,
}
"""The fields of every header, in the order of its encoding."""
_LATER: Final[Mapping[str, Callable[[object], bytes | int]]] = {
    "baseFeePerGas": results.balance,
    "withdrawalsRoot": Hash32.parse,
    "blobGasUsed": results.nonce,
    "excessBlobGas": results.nonce,
    "parentBeaconBlockRoot": Hash32.parse,
    "requestsHash": Hash32.parse,
}
"""Those that hardforks have added: a header ends before the first that it does not have."""


class HashedHeader(msgspec.Struct, frozen=True):
    """A header that was hashed: its members as JSON has them, its encoding and its hash."""

    values: dict[str, bytes | int]
    encoded: bytes
    hash: Hash32

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> HashedHeader:
        """Hash the header of a block; raise `MalformedValue` for what is no header of Ethereum."""
        values = {name: _value(fields, name, parse) for name, parse in _FIELDS.items()}
        for name, parse in _LATER.items():
            if fields.get(name) is None:
                break
            values[name] = _value(fields, name, parse)
        encoded = rlp_encode([_item(value) for value in values.values()])
        return cls(values, encoded, Hash32(keccak256(encoded)))

    @property
    def number(self) -> int:
        """Its number."""
        return self.quantity("number")

    def quantity(self, name: str) -> int:
        """Return a number; one that the header does not have is zero."""
        return int(self.values.get(name, 0))

    def data(self, name: str) -> bytes:
        """Return bytes; those that the header does not have are none."""
        value = self.values.get(name, b"")
        assert isinstance(value, bytes)
        return value

    def json(self) -> dict[str, Any]:
        """Return its members, with its hash."""
        members = {
            name: hex(it) if isinstance(it, int) else f"0x{it.hex()}"
            for name, it in self.values.items()
        }
        return {"hash": str(self.hash), **members}


def check_header(host: str, block: DescribedBlock) -> None:
    """Raise `ProofsUnavailable` if the header of the anchor does not have its hash: nothing can be proven by it then."""
    if not has_hash(block):
        raise ProofsUnavailable(
            host,
            f"the header of block {block.number} does not have the hash {block.hash}: it is not a header of Ethereum, "
            "or false",
        )


def has_hash(block: DescribedBlock) -> bool:
    """Return whether the header of a block has its hash."""
    return hashed(block) is not None


def hashed(block: DescribedBlock) -> HashedHeader | None:
    """Return the header of a block; None if it does not have the hash that the remote says."""
    try:
        header = HashedHeader.of(results.mapping(msgspec.json.decode(block.json)))
    except MalformedValue:
        return None
    return header if header.hash == block.hash and header.number == block.number else None


def _value(
    fields: Mapping[str, Any], name: str, parse: Callable[[object], bytes | int]
) -> bytes | int:
    try:
        return parse(fields.get(name))
    except MalformedValue as error:
        raise MalformedValue(f"{name}: {error}") from error


def _item(value: bytes | int) -> bytes:
    return rlp.encode_uint(value) if isinstance(value, int) else bytes(value)
