"""Which code a block publishes, and the hashes by which people ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from entresol._native import keccak256
from entresol.primitives.bytecode import EVM_VERSION, MAX_EVM_SIZE, evm_hash, pad_evm
from entresol.primitives.transactions import PriorityTransaction, ZkTransaction, load
from entresol.primitives.transactions.priority import L1_TYPES
from entresol.primitives.transactions.zk import ZK_TYPE
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.primitives.records import BlockRecord

_WITH_DEPENDENCIES: Final = L1_TYPES | {ZK_TYPE}

_EVM_PREFIX: Final = bytes([EVM_VERSION, 0])


def published_by(record: BlockRecord) -> Iterator[tuple[bytes, bytes]]:
    """Yield each hash by which a code of the block can be asked for from then on, with the code.

    Deployed code has its keccak and its EVM versioned hash, a factory dependency the hash it was
    published under.
    """
    for code in record.codes:
        yield keccak256(code), code
        if len(code) <= MAX_EVM_SIZE:
            yield evm_hash(code), code
    yield from _factory_deps_of(record)


def _factory_deps_of(record: BlockRecord) -> Iterator[tuple[bytes, bytes]]:
    """Yield the factory dependencies of a block's transactions, by their hashes."""
    for raw, sender in record.transactions:
        if raw[0] not in _WITH_DEPENDENCIES:
            continue
        payload = load(raw, Address(sender)).payload
        if isinstance(payload, PriorityTransaction):
            # L1 has matched the two, and what is sealed cannot be rejected any more.
            yield from zip(payload.factory_dep_hashes, payload.factory_deps, strict=False)
        elif isinstance(payload, ZkTransaction):
            yield from zip(payload.factory_dep_hashes(), payload.factory_deps, strict=True)


def as_published(name: bytes, code: bytes) -> bytes:
    """Return the bytes that `name` is the hash of: EVM code is padded where its versioned hash is."""
    return pad_evm(code) if name.startswith(_EVM_PREFIX) and evm_hash(code) == name else code
