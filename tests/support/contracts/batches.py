"""Batches as their operator settles them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eth_abi import abi

from entresol._native import keccak256
from tests.support.contracts.engine import NOW
from tests.support.contracts.merkle_trees import range_paths, rolling_hash, root_of

STORED = "(uint64,bytes32,uint64,uint256,bytes32,bytes32,bytes32,uint256,bytes32)"
COMMIT = (
    "(uint64,bytes32,uint256,bytes32,bytes32,bytes32,uint8,bytes32,"
    "uint64,uint64,uint64,uint64,uint256,bytes)"
)
PRIORITY_OPS = "(bytes32[],bytes32[],bytes32[])"
INTEROP_ROOTS = "(uint256,uint256,uint256,bytes32[])"
NONE = bytes(32)


@dataclass(frozen=True, kw_only=True)
class Batch:
    number: int
    chain_id: int = 270
    state: bytes = b""
    logs_root: bytes = root_of([])
    requests: tuple[bytes, ...] = ()
    first_request: int = 0
    all_requests: tuple[bytes, ...] = ()
    dependency_roots: bytes = NONE
    pubdata: bytes = b"pubdata"
    da_scheme: int = 3
    first_block: int = 1
    last_block: int = 2
    first_timestamp: int = NOW - 10
    last_timestamp: int = NOW

    @property
    def state_hash(self) -> bytes:
        return self.state or keccak256(b"state %d" % self.number)

    def da_input(self) -> bytes:
        if self.da_scheme == 1:
            return NONE
        return b"".join([self._da_header(), b"\0", self.pubdata, NONE])

    def da_commitment(self) -> bytes:
        return NONE if self.da_scheme == 1 else keccak256(self._da_header())

    def commitment(self) -> bytes:
        if self.number == 0:
            return (1).to_bytes(32)
        return keccak256(
            b"".join(
                [
                    self.chain_id.to_bytes(32),
                    self.first_timestamp.to_bytes(8),
                    self.last_timestamp.to_bytes(8),
                    self.da_scheme.to_bytes(32),
                    self.da_commitment(),
                    len(self.requests).to_bytes(32),
                    rolling_hash(self.requests),
                    self.logs_root,
                    NONE,
                    self.dependency_roots,
                ]
            )
        )

    def stored(self) -> tuple[object, ...]:
        return (
            self.number,
            self.state_hash,
            0,
            len(self.requests),
            rolling_hash(self.requests),
            self.dependency_roots,
            NONE if self.number == 0 else self.logs_root,
            0,
            self.commitment(),
        )

    def committed(self) -> tuple[object, ...]:
        return (
            self.number,
            self.state_hash,
            len(self.requests),
            rolling_hash(self.requests),
            self.dependency_roots,
            self.logs_root,
            self.da_scheme,
            self.da_commitment(),
            self.first_timestamp,
            self.first_block,
            self.last_timestamp,
            self.last_block,
            self.chain_id,
            self.da_input(),
        )

    def public_input(self, previous: Batch) -> int:
        claim = previous.state_hash + self.state_hash + self.commitment()
        return int.from_bytes(keccak256(claim)) >> 32

    def priority_ops(self) -> tuple[list[bytes], list[bytes], list[bytes]]:
        """Return which requests the batch ran, and their place in the tree of all."""
        if not self.requests:
            return [], [], []
        paths = range_paths(self.all_requests, self.first_request, len(self.requests))
        return (*paths, list(self.requests))

    def commit_data(self, previous: Batch) -> bytes:
        return commit_data(previous.stored(), [self.committed()])

    def prove_data(self, previous: Batch) -> bytes:
        return prove_data(previous, [self])

    def execute_data(self) -> bytes:
        return execute_data([self])

    def _da_header(self) -> bytes:
        return NONE + keccak256(self.pubdata) + b"\1" + NONE


def stored(batch: tuple[object, ...]) -> bytes:
    return abi.encode([STORED], [batch])


def commit_data(previous: tuple[object, ...], batches: Sequence[tuple[object, ...]]) -> bytes:
    return b"\3" + abi.encode([STORED, f"{COMMIT}[]"], [previous, batches])


def prove_data(
    previous: Batch, batches: Sequence[Batch], proof: Sequence[int] | None = None
) -> bytes:
    """Return the data of a proof, by default one that the development verifier accepts."""
    if proof is None:
        inputs = [b.public_input(a) for a, b in zip([previous, *batches], batches, strict=False)]
        proof = [3, 0, 13, fold(inputs)]
    arguments = [previous.stored(), [batch.stored() for batch in batches], proof]
    return b"\1" + abi.encode([STORED, f"{STORED}[]", "uint256[]"], arguments)


def execute_data(batches: Sequence[Batch], *, roots: Sequence[object] = ()) -> bytes:
    arguments = [
        [batch.stored() for batch in batches],
        [batch.priority_ops() for batch in batches],
        [list(roots) for _ in batches],
    ]
    return b"\2" + abi.encode(
        [f"{STORED}[]", f"{PRIORITY_OPS}[]", f"{INTEROP_ROOTS}[][]"], arguments
    )


def fold(inputs: Sequence[int]) -> int:
    """Return what a proof of several batches is about."""
    result = inputs[0]
    for item in inputs[1:]:
        result = int.from_bytes(keccak256(result.to_bytes(32) + item.to_bytes(32))) >> 32
    return result
