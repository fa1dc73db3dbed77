"""The addresses of CREATE2, computed beside the engine."""

from __future__ import annotations

from entresol._native import keccak256
from entresol.primitives.values import Address, Hash32


def create2_address(creator: Address, salt: Hash32, init_code: bytes) -> Address:
    """Return the address of a contract that `creator` creates by CREATE2."""
    return Address(keccak256(b"\xff" + creator + salt + keccak256(init_code))[12:])
