"""Versioned bytecode hashes, and validation of factory dependencies."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from entresol._native import keccak256
from entresol.errors import InvalidBytecode
from entresol.primitives.values import Hash32

WORD: Final = 32
MAX_WORDS: Final = 0xFFFF
MAX_SIZE: Final = MAX_WORDS * WORD
MAX_EVM_SIZE: Final = 0xFFFF

EMPTY_CODE_HASH: Final = Hash32(keccak256(b""))
"""The code hash of an account without code."""

ERAVM_VERSION: Final = 1
EVM_VERSION: Final = 2


def validate_bytecode(code: bytes) -> None:
    """Reject code that has no versioned hash, in zksync-era's wording."""
    if len(code) > MAX_SIZE:
        raise InvalidBytecode(f"Bytecode too long: {len(code)} bytes, while max {MAX_SIZE} allowed")
    if len(code) % WORD:
        raise InvalidBytecode("Bytecode length is not divisible by 32")
    if len(code) // WORD % 2 == 0:
        raise InvalidBytecode("Bytecode has even number of 32-byte words")


def eravm_hash(code: bytes) -> Hash32:
    """Return the hash under which a factory dependency is published."""
    validate_bytecode(code)
    return _versioned(ERAVM_VERSION, len(code) // WORD, code)


def evm_hash(code: bytes) -> Hash32:
    """Return the versioned hash of EVM code; its length field is that before padding."""
    if len(code) > MAX_EVM_SIZE:
        raise InvalidBytecode(
            f"Bytecode too long: {len(code)} bytes, while max {MAX_EVM_SIZE} allowed"
        )
    return _versioned(EVM_VERSION, len(code), pad_evm(code))


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


def _versioned(version: int, length: int, code: bytes) -> Hash32:
    return Hash32(bytes([version, 0]) + length.to_bytes(2) + sha256(code).digest()[4:])
