"""Addresses of created contracts."""

from __future__ import annotations

from entresol._native import keccak256, rlp_encode
from entresol.primitives.rlp import encode_uint
from entresol.primitives.values import Address


def create_address(creator: Address, nonce: int) -> Address:
    """Return the CREATE address for `creator` and `nonce`."""
    return Address(keccak256(rlp_encode([creator, encode_uint(nonce)]))[12:])
