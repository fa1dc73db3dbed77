"""Addresses with their chain, as ERC-7930 encodes them."""

from __future__ import annotations

from typing import Final

from entresol.errors import MalformedValue
from entresol.primitives.values import Address

_PREFIX: Final = bytes.fromhex("00010000")
"""The version, and the kind of chains that Ethereum is one of."""
_ADDRESS: Final = 20


def encode(chain_id: int | None, address: Address | None = None) -> bytes:
    """Return a chain, an address, or an address on a chain."""
    number = b"" if chain_id is None else chain_id.to_bytes((chain_id.bit_length() + 7) // 8)
    account = b"" if address is None else bytes(address)
    return _PREFIX + bytes([len(number)]) + number + bytes([len(account)]) + account


def decode(encoded: bytes) -> tuple[int | None, Address | None]:
    """Return the chain and the address that are named; 20 bare bytes are an address of any chain."""
    if len(encoded) == _ADDRESS:
        return None, Address(encoded)
    if encoded[: len(_PREFIX)] != _PREFIX:
        raise _malformed(encoded)
    number, rest = _part(encoded, len(_PREFIX))
    account, rest = _part(encoded, rest)
    if rest != len(encoded) or len(account) not in (0, _ADDRESS):
        raise _malformed(encoded)
    chain_id = int.from_bytes(number) if number else None
    return chain_id, Address(account) if account else None


def _part(encoded: bytes, start: int) -> tuple[bytes, int]:
    """Return the part that begins with its length, and where it ends."""
    length = encoded[start : start + 1]
    end = start + 1 + int.from_bytes(length)
    if not length or end > len(encoded):
        raise _malformed(encoded)
    return encoded[start + 1 : end], end


def _malformed(encoded: bytes) -> MalformedValue:
    return MalformedValue(f"0x{encoded.hex()} is no address of a chain as ERC-7930 has it")
