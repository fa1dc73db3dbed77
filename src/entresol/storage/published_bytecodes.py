"""Bytecodes that a block publishes, under every hash that clients look them up by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from entresol._native import keccak256
from entresol.primitives.bytecode import EVM_VERSION, MAX_EVM_SIZE, eravm_hash, evm_hash, pad_evm
from entresol.primitives.transactions import PriorityTransaction, ZkTransaction, load
from entresol.primitives.transactions.priority import L1_TYPES
from entresol.primitives.transactions.zk import ZK_TYPE, has_factory_deps
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.primitives.records import BlockRecord

_WITH_DEPENDENCIES: Final = L1_TYPES | {ZK_TYPE}

_WORD: Final = 32
_ODD_WORDS: Final = 2 * _WORD

_EVM_PREFIX: Final = bytes([EVM_VERSION, 0])


def published_by(record: BlockRecord) -> Iterator[tuple[bytes, bytes]]:
    """Yield the hash and the code of every bytecode that the block publishes.

    Deployed code has two hashes, its keccak and its versioned EVM hash; a factory dependency has the
    hash that it was published under. Code of a genesis that has the form of EraVM bytecode has its hash, too:
    zksync-ethers looks up the testnet paymaster by it.
    """
    for code in record.codes:
        yield keccak256(code), code
        if len(code) <= MAX_EVM_SIZE:
            yield evm_hash(code), code
        if not record.transactions and len(code) % _ODD_WORDS == _WORD:
            yield eravm_hash(code), code
    yield from _factory_deps_of(record)


def _factory_deps_of(record: BlockRecord) -> Iterator[tuple[bytes, bytes]]:
    """Yield the factory dependencies of the block's transactions with their hashes."""
    for raw, sender in record.transactions:
        if raw[0] not in _WITH_DEPENDENCIES or (raw[0] == ZK_TYPE and not has_factory_deps(raw)):
            continue
        payload = load(raw, Address(sender)).payload
        if isinstance(payload, PriorityTransaction):
            # L1 has checked that they match, and a sealed block cannot be rejected.
            yield from zip(payload.factory_dep_hashes, payload.factory_deps, strict=False)
        elif isinstance(payload, ZkTransaction):
            yield from zip(payload.factory_dep_hashes(), payload.factory_deps, strict=True)


def as_published(name: bytes, code: bytes) -> bytes:
    """Return the preimage of `name`: a versioned EVM hash is that of padded code."""
    return pad_evm(code) if name.startswith(_EVM_PREFIX) and evm_hash(code) == name else code
