"""Addresses of created contracts, and the L2 alias of an L1 contract."""

from __future__ import annotations

from typing import Final

from entresol._native import keccak256, rlp_encode
from entresol.primitives.rlp import encode_uint
from entresol.primitives.values import Address

ALIAS_OFFSET: Final = 0x1111000000000000000000000000000000001111


def alias(l1_contract: Address) -> Address:
    """Return the L2 alias of an L1 contract."""
    return Address(((int.from_bytes(l1_contract) + ALIAS_OFFSET) % 2**160).to_bytes(20))


def create_address(creator: Address, nonce: int) -> Address:
    """Return the CREATE address for `creator` and `nonce`."""
    return Address(keccak256(rlp_encode([creator, encode_uint(nonce)]))[12:])
