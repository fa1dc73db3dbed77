"""L1's trees of roots: one a chain over its batches, and one over all chains.

Both have the fewest levels that hold their leaves, and one leaf is its own root. Batches are only appended, so that of
each chain a handful of nodes is enough.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import msgspec

from entresol._native import keccak256
from entresol.primitives.values import Hash32
from entresol.rollup.priority_tree import Frontier, height_of

if TYPE_CHECKING:
    from collections.abc import Sequence

EMPTY_ENTRY: Final = Hash32(keccak256(bytes(96)))
"""A leaf that nothing has, in either tree."""

_BATCH_LEAF: Final = keccak256(b"zkSync:BatchLeaf")
_CHAIN_LEAF: Final = keccak256(b"zkSync:ChainIdLeaf")


def batch_leaf(batch_root: bytes, number: int, timestamp: int) -> bytes:
    """Return the leaf of a batch, whose root L1 got at `timestamp`, in the tree of its chain."""
    return keccak256(_BATCH_LEAF + batch_root + number.to_bytes(32) + timestamp.to_bytes(32))


def chain_leaf(chain_root: bytes, chain_id: int) -> bytes:
    """Return the leaf of a chain in the tree of all chains."""
    return keccak256(_CHAIN_LEAF + chain_root + chain_id.to_bytes(32))


@cache
def empty_root(height: int) -> Hash32:
    """Return the root of a subtree without leaves."""
    return EMPTY_ENTRY if not height else Hash32(keccak256(empty_root(height - 1) * 2))


class BatchFrontier(Frontier, frozen=True, array_like=True):
    """The tree of one chain after `count` batches."""

    @staticmethod
    def empty_root(height: int) -> Hash32:
        """Return the root of a subtree without batches."""
        return empty_root(height)

    def paths(self, leaves: Sequence[bytes]) -> list[tuple[bytes, ...]]:
        """Return the siblings of each of these leaves, from the leaf up, once they are the last ones of the tree."""
        level, start = list(leaves), self.count
        paths: list[list[bytes]] = [[] for _ in leaves]
        for height in range(height_of(self.count + len(leaves))):
            if start & 1:
                level.insert(0, self.node(height))
                start -= 1
            if len(level) & 1:
                level.append(empty_root(height))
            for index, path in enumerate(paths):
                path.append(level[(self.count + index >> height ^ 1) - start])
            level = _parents(level)
            start >>= 1
        return [tuple(path) for path in paths]


class ChainTree(msgspec.Struct, frozen=True, array_like=True):
    """A chain, and the tree of its batches."""

    chain_id: int
    batches: BatchFrontier = BatchFrontier()

    def leaf(self) -> bytes:
        """Return the leaf in the tree of all chains."""
        return chain_leaf(self.batches.root(), self.chain_id)


class MessageTrees(msgspec.Struct, frozen=True, array_like=True):
    """The trees at the end of a block of L1: its own leaf is the first, then the chains in their order."""

    l1_chain_id: int
    chains: tuple[ChainTree, ...] = ()

    def leaves(self) -> list[bytes]:
        """Return the leaves of the tree of all chains."""
        return [
            chain_leaf(Hash32.zero(), self.l1_chain_id),
            *(chain.leaf() for chain in self.chains),
        ]

    def root(self) -> Hash32:
        """Return the root over all chains."""
        return LeafTree(self.leaves()).root

    def has(self, chain_id: int) -> bool:
        """Return whether a chain is registered."""
        return any(chain.chain_id == chain_id for chain in self.chains)

    def encode(self) -> bytes:
        """Return them in MessagePack."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> MessageTrees:
        """Decode what `encode` writes."""
        return msgspec.msgpack.decode(data, type=cls)


class LeafTree:
    """A tree whose leaves change: each change hashes one path."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self._levels = [list(leaves)]
        while len(self._levels[-1]) > 1:
            level = self._levels[-1]
            odd = [empty_root(len(self._levels) - 1)] if len(level) & 1 else []
            self._levels.append(_parents([*level, *odd]))

    @property
    def root(self) -> Hash32:
        """The root over all leaves."""
        return Hash32(self._levels[-1][0])

    def __len__(self) -> int:
        return len(self._levels[0])

    def append(self, leaf: bytes) -> None:
        """Add a leaf."""
        index = len(self)
        if index == 1 << len(self._levels) - 1:
            # The tree so far is the left half of the new one.
            self._levels.append([self._levels[-1][0]])
        self._levels[0].append(leaf)
        self.set(index, leaf)

    def set(self, index: int, leaf: bytes) -> None:
        """Change a leaf."""
        self._levels[0][index] = leaf
        for height, (level, above) in enumerate(zip(self._levels, self._levels[1:], strict=False)):
            left = index & ~1
            right = level[left + 1] if left + 1 < len(level) else empty_root(height)
            index >>= 1
            above[index : index + 1] = [keccak256(level[left] + right)]

    def path(self, index: int) -> tuple[bytes, ...]:
        """Return the siblings of a leaf, from it up."""
        found = []
        for height, level in enumerate(self._levels[:-1]):
            sibling = index >> height ^ 1
            found.append(level[sibling] if sibling < len(level) else empty_root(height))
        return tuple(found)


def _parents(level: Sequence[bytes]) -> list[bytes]:
    return [keccak256(level[at] + level[at + 1]) for at in range(0, len(level), 2)]
