"""Addresses of created contracts, and the L2 alias of an L1 contract."""

from __future__ import annotations

from typing import Final

from entresol._native import keccak256, rlp_encode
from entresol.primitives.rlp import encode_uint
from entresol.primitives.values import Address, Hash32

ALIAS_OFFSET: Final = 0x1111000000000000000000000000000000001111

_ZK_CREATE: Final = keccak256(b"zksyncCreate")
_ZK_CREATE2: Final = keccak256(b"zksyncCreate2")


def alias(l1_contract: Address) -> Address:
    """Return the L2 alias of an L1 contract."""
    return _shift(l1_contract, ALIAS_OFFSET)


def unalias(l2_sender: Address) -> Address:
    """Return the L1 contract whose alias is `l2_sender`."""
    return _shift(l2_sender, -ALIAS_OFFSET)


def create_address(creator: Address, nonce: int) -> Address:
    """Return the CREATE address for `creator` and `nonce`."""
    return Address(keccak256(rlp_encode([creator, encode_uint(nonce)]))[12:])


def create2_address(creator: Address, salt: Hash32, init_code: bytes) -> Address:
    """Return the CREATE2 address for `creator`, `salt` and `init_code`."""
    return Address(keccak256(b"\xff" + creator + salt + keccak256(init_code))[12:])


def zk_create_address(creator: Address, deploy_nonce: int) -> Address:
    """Return the EraVM address of a `create`."""
    return Address(
        keccak256(_ZK_CREATE + creator.rjust(32, b"\0") + deploy_nonce.to_bytes(32))[12:]
    )


def zk_create2_address(
    creator: Address, salt: Hash32, bytecode_hash: Hash32, constructor_input: bytes
) -> Address:
    """Return the EraVM address of a `create2`."""
    prefix = creator.rjust(32, b"\0") + salt
    content = bytecode_hash + keccak256(constructor_input)
    return Address(keccak256(_ZK_CREATE2 + prefix + content)[12:])


def _shift(address: Address, offset: int) -> Address:
    return Address(((int.from_bytes(address) + offset) % 2**160).to_bytes(20))
