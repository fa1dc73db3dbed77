"""Addresses that contracts compute, computed beside the engine: of CREATE2, and aliases on L2."""

from __future__ import annotations

from entresol._native import keccak256
from entresol.primitives.values import Address, Hash32

ALIAS_OFFSET = 0x1111000000000000000000000000000000001111


def alias(l1_contract: Address) -> Address:
    return Address(((int.from_bytes(l1_contract) + ALIAS_OFFSET) % 2**160).to_bytes(20))


def create2_address(creator: Address, salt: Hash32, init_code: bytes) -> Address:
    return Address(keccak256(b"\xff" + creator + salt + keccak256(init_code))[12:])
