"""Versioned bytecode hashes; that of factory dependencies, with their form, is the crate's."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from entresol import _native
from entresol.errors import InvalidBytecode
from entresol.primitives.values import Hash32

WORD: Final = 32
MAX_EVM_SIZE: Final = 0xFFFF

EMPTY_CODE_HASH: Final = Hash32(_native.keccak256(b""))
"""The code hash of an account without code."""

EVM_VERSION: Final = 2

_DELEGATION: Final = b"\xef\x01\x00"
_DELEGATION_SIZE: Final = 23


def is_delegation(code: bytes) -> bool:
    """Return whether code delegates to that of another account (EIP-7702)."""
    return len(code) == _DELEGATION_SIZE and code.startswith(_DELEGATION)


def eravm_hash(code: bytes) -> Hash32:
    """Return the hash under which a factory dependency is published; reject code of another form."""
    return Hash32(_native.eravm_hash(code))


def evm_hash(code: bytes) -> Hash32:
    """Return the versioned hash of EVM code; its length field is that before padding."""
    if len(code) > MAX_EVM_SIZE:
        raise InvalidBytecode("too long", len(code), MAX_EVM_SIZE)
    prefix = bytes([EVM_VERSION, 0]) + len(code).to_bytes(2)
    return Hash32(prefix + sha256(pad_evm(code)).digest()[4:])


def byte_counts(codes: Iterable[bytes]) -> tuple[int, int]:
    """Return how many bytes of some codes are zero, and how many are not."""
    size = zeros = 0
    for code in codes:
        size += len(code)
        zeros += code.count(0)
    return zeros, size - zeros


def pad_evm(code: bytes) -> bytes:
    """Pad EVM code with zeros to an odd number of words."""
    words = -(-len(code) // WORD)
    return code.ljust((words | 1) * WORD, b"\0")
