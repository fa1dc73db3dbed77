"""The Merkle tree over the L2-to-L1 logs of a batch.

The tree has 2^14 leaves; those without a log have the default value, so the roots of empty subtrees are
constants, and the cost grows with the number of logs. L1 stores the root of the batch: the keccak of the
tree's root and of an aggregated root, which is zero because no chain settles on this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from entresol._native import keccak256
from entresol.errors import BatchOverflow
from entresol.primitives.l2_to_l1_logs import (
    DEFAULT_LEAF,
    MAX_LOGS_PER_BATCH,
    PACKED_SIZE,
    TREE_DEPTH,
    LogProof,
)
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

DEPTH: Final = TREE_DEPTH
CAPACITY: Final = MAX_LOGS_PER_BATCH

NO_AGGREGATED_ROOT: Final = Hash32.zero()

_HASH: Final = 32
_PAIR: Final = 64

# Version 1, a log path of 15 words, no batch path, and the chain settles on L1 itself.
_METADATA: Final = Hash32(bytes([1, DEPTH + 1, 0, 1]).ljust(_HASH, b"\0"))


def _empty_roots() -> tuple[Hash32, ...]:
    roots = [DEFAULT_LEAF]
    for _ in range(DEPTH):
        roots.append(Hash32(keccak256(roots[-1] * 2)))
    return tuple(roots)


EMPTY_ROOTS: Final = _empty_roots()
"""The root of a subtree without logs, by its height."""


class MessageTree:
    """The Merkle tree over the logs of one batch."""

    def __init__(
        self, leaves: Iterable[bytes], aggregated_root: Hash32 = NO_AGGREGATED_ROOT
    ) -> None:
        # A level is one string of hashes, so that pairs are hashed without a copy of each.
        self._levels = [b"".join(leaves)]
        self.size = len(self._levels[0]) // _HASH
        if self.size > CAPACITY:
            raise BatchOverflow(f"a message tree has {CAPACITY} leaves, got {self.size}")
        self._aggregated_root = aggregated_root
        for height in range(DEPTH):
            self._levels.append(_parents(self._levels[height], height))
        self.local_root = Hash32(self._levels[DEPTH] or EMPTY_ROOTS[DEPTH])
        self.root = batch_root(self.local_root, aggregated_root)

    @classmethod
    def of_logs(cls, packed: bytes, left_out: Container[int] = ()) -> Self:
        """Return the tree over concatenated packed logs, with empty leaves for those that are left out."""
        view = enumerate(range(0, len(packed), PACKED_SIZE))
        return cls(
            DEFAULT_LEAF if leaf in left_out else keccak256(packed[at : at + PACKED_SIZE])
            for leaf, at in view
        )

    def path(self, index: int) -> tuple[bytes, ...]:
        """Return the siblings of a leaf and of the nodes above it, from the leaf upwards."""
        if not 0 <= index < self.size:
            raise IndexError(f"leaf {index} of {self.size}")
        # From the height on at which the logs are one subtree, all siblings are empty.
        height, nodes = (self.size - 1).bit_length(), []
        for level, empty in zip(self._levels[:height], EMPTY_ROOTS, strict=False):
            at = (index ^ 1) * _HASH
            nodes.append(level[at : at + _HASH] or empty)
            index >>= 1
        return (*nodes, *EMPTY_ROOTS[height:DEPTH])

    def prove(self, index: int) -> LogProof:
        """Return the proof of the log at `index`."""
        words = (_METADATA, *self.path(index), self._aggregated_root)
        return LogProof(id=index, root=self.root, words=words)


def batch_root(local_root: bytes, aggregated_root: bytes = NO_AGGREGATED_ROOT) -> Hash32:
    """Return the root that L1 stores for a batch."""
    return Hash32(keccak256(local_root + aggregated_root))


def _parents(level: bytes, height: int) -> bytes:
    """Return the level above the one at `height`; an empty subtree completes the last pair."""
    if len(level) % _PAIR:
        level += EMPTY_ROOTS[height]
    return b"".join([keccak256(level[at : at + _PAIR]) for at in range(0, len(level), _PAIR)])
