"""Batch commitments, and the call data that commits, proves and executes batches on L1.

The encodings are those of protocol version 31; contracts of version 30 differ in that of an execution. One part is a
placeholder: the proof is a fake that only a development verifier accepts. L1 checks everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from entresol._native import keccak256
from entresol.primitives import abi
from entresol.primitives.batches import DataScheme
from entresol.primitives.interop_roots import ROOT_TYPE, InteropRoot
from entresol.primitives.values import Address, Hash32
from entresol.rollup.priority_tree import EMPTY_LEAF, PriorityOpsBatchInfo

NO_DATA_COMMITMENT: Final = Hash32.zero()
NO_DATA_INPUT: Final = bytes(32)
"""Only the operator has the data, and L1 requires none of it."""

_NO_STATE_DIFFERENCES: Final = bytes(32)
_ONE_BLOB: Final = b"\x01"
_NO_BLOB_HASH: Final = bytes(32)
_IN_CALLDATA: Final = b"\x00"
_NO_BLOB_COMMITMENT: Final = bytes(32)


def calldata_commitment(data: bytes) -> Hash32:
    """Return what commits to data that is part of the call."""
    return Hash32(keccak256(_header(data)))


def calldata_input(data: bytes) -> bytes:
    """Return the operator's input with the data that is part of the call."""
    return _header(data) + _IN_CALLDATA + data + _NO_BLOB_COMMITMENT


def _header(data: bytes) -> bytes:
    return _NO_STATE_DIFFERENCES + keccak256(data) + _ONE_BLOB + _NO_BLOB_HASH


# The first byte of the call data: the version of its encoding.
COMMIT_VERSION: Final = 3
PROVE_VERSION: Final = 1
EXECUTE_VERSION: Final = 2

_NO_GENESIS_DATA: Final = Hash32((1).to_bytes(32))
"""The commitment of batch 0 of a chain that publishes nothing."""

_FAKE_PROOF_TYPE: Final = 3
_FAKE_PROOF_MAGIC: Final = 13

_STORED: Final = "(uint64,bytes32,uint64,uint256,bytes32,bytes32,bytes32,uint256,bytes32)"
_COMMIT: Final = (
    "(uint64,bytes32,uint256,bytes32,bytes32,bytes32,uint8,bytes32,"
    "uint64,uint64,uint64,uint64,uint256,bytes)"
)
_PRIORITY: Final = "(bytes32[],bytes32[],bytes32[])"

_Words: TypeAlias = tuple[object, ...]


class StoredBatchInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A batch as L1 stores it: by the hash of this."""

    number: int
    state_root: Hash32
    l1_transactions: int = 0
    priority_hash: Hash32 = EMPTY_LEAF
    dependency_hash: Hash32 = Hash32.zero()
    message_root: Hash32 = Hash32.zero()
    commitment: Hash32

    @classmethod
    def genesis(cls, state_root: Hash32, data_hash: Hash32 = _NO_GENESIS_DATA) -> StoredBatchInfo:
        """Return batch 0, with which the chain is registered on L1; `data_hash` is that of its published genesis."""
        return cls(number=0, state_root=state_root, commitment=data_hash)

    def hash(self) -> Hash32:
        """Return what L1 stores as `storedBatchHash`."""
        return Hash32(keccak256(abi.encode(f"({_STORED})", (self.words(),))))

    def words(self) -> _Words:
        """Return the fields in the order of the struct `StoredBatchInfo`."""
        index_of_repeated_changes = timestamp = 0
        return (
            self.number,
            self.state_root,
            index_of_repeated_changes,
            self.l1_transactions,
            self.priority_hash,
            self.dependency_hash,
            self.message_root,
            timestamp,
            self.commitment,
        )


class CommitBatchInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is committed to L1 for a batch."""

    chain_id: int
    number: int
    first_block: int
    last_block: int
    first_timestamp: int
    last_timestamp: int
    state_root: Hash32
    message_root: Hash32
    l1_transactions: int
    priority_hash: Hash32
    dependency_hash: Hash32 = Hash32.zero()
    data_scheme: DataScheme = DataScheme.NONE
    data_commitment: Hash32 = NO_DATA_COMMITMENT
    data_input: bytes = NO_DATA_INPUT
    """Where the data is, for the contract; L1 does not store it."""

    def commitment(self) -> Hash32:
        """Return the commitment, as L1 computes it from the call data."""
        no_upgrade = Hash32.zero()
        return Hash32(
            keccak256(
                self.chain_id.to_bytes(32)
                + self.first_timestamp.to_bytes(8)
                + self.last_timestamp.to_bytes(8)
                + self.data_scheme.to_bytes(32)
                + self.data_commitment
                + self.l1_transactions.to_bytes(32)
                + self.priority_hash
                + self.message_root
                + no_upgrade
                + self.dependency_hash
            )
        )

    def stored(self) -> StoredBatchInfo:
        """Return the batch as L1 stores it once it is committed."""
        return StoredBatchInfo(
            number=self.number,
            state_root=self.state_root,
            l1_transactions=self.l1_transactions,
            priority_hash=self.priority_hash,
            dependency_hash=self.dependency_hash,
            message_root=self.message_root,
            commitment=self.commitment(),
        )

    def words(self) -> _Words:
        """Return the fields in the order of the struct `CommitBatchInfo`."""
        return (
            self.number,
            self.state_root,
            self.l1_transactions,
            self.priority_hash,
            self.dependency_hash,
            self.message_root,
            int(self.data_scheme),
            self.data_commitment,
            self.first_timestamp,
            self.first_block,
            self.last_timestamp,
            self.last_block,
            self.chain_id,
            self.data_input,
        )


def commit_data(previous: StoredBatchInfo, batch: CommitBatchInfo) -> bytes:
    """Return the `batchData` that commits one batch, which follows `previous`."""
    arguments = (previous.words(), [batch.words()])
    return bytes([COMMIT_VERSION]) + abi.encode(f"({_STORED},{_COMMIT}[])", arguments)


def proof_data(previous: StoredBatchInfo, batches: Sequence[StoredBatchInfo]) -> bytes:
    """Return the `proofData` of batches that follow `previous`, for a development verifier."""
    arguments = (previous.words(), _all_words(batches), fake_proof(previous, batches))
    return bytes([PROVE_VERSION]) + abi.encode(f"({_STORED},{_STORED}[],uint256[])", arguments)


def execute_data(
    batches: Sequence[StoredBatchInfo],
    operations: Sequence[PriorityOpsBatchInfo],
    roots: Sequence[Sequence[InteropRoot]],
) -> bytes:
    """Return the `executeData` of proven batches, with the priority transactions and imported roots of each."""
    proofs = [
        (operation.left_path, operation.right_path, operation.hashes) for operation in operations
    ]
    declared = [list(of_batch) for of_batch in roots]
    types = f"({_STORED}[],{_PRIORITY}[],{ROOT_TYPE}[][])"
    return bytes([EXECUTE_VERSION]) + abi.encode(types, (_all_words(batches), proofs, declared))


def public_input(previous: StoredBatchInfo, batch: StoredBatchInfo) -> int:
    """Return the public input of a validity proof of `batch`."""
    words = previous.state_root + batch.state_root + batch.commitment
    return int.from_bytes(keccak256(words)) >> 32


def fake_proof(previous: StoredBatchInfo, batches: Sequence[StoredBatchInfo]) -> list[int]:
    """Return a fake proof; it contains the public inputs of its batches, and proves nothing."""
    folded: int | None = None
    for batch in batches:
        number = public_input(previous, batch)
        folded = number if folded is None else _fold(folded, number)
        previous = batch
    return [_FAKE_PROOF_TYPE, 0, _FAKE_PROOF_MAGIC, folded or 0]


def encode_call(step: str, chain: Address, first: int, last: int, data: bytes) -> bytes:
    """Return the call that does a step (`commit`, `prove` or `execute`) of batches `first` to `last`."""
    signature = f"{step}BatchesSharedBridge(address,uint256,uint256,bytes)"
    return abi.encode_call(signature, chain, first, last, data)


def _all_words(batches: Sequence[StoredBatchInfo]) -> list[_Words]:
    return [batch.words() for batch in batches]


def _fold(folded: int, number: int) -> int:
    return int.from_bytes(keccak256(folded.to_bytes(32) + number.to_bytes(32))) >> 32
