"""L1's Merkle tree of priority transactions, and the proof that a batch has the next ones.

The tree grows by a level whenever it is full, and L1 stores the root after each transaction. A batch is checked
against the root after its own last transaction, so that everything to the right is empty. Everything to the left
is a handful of nodes, the *frontier*: the roots of the full subtrees over the earlier transactions.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol._native import keccak256
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

EMPTY_LEAF: Final = Hash32(EMPTY_CODE_HASH)
"""The keccak of the empty string: an empty leaf, and the start of rolling hashes."""

_UNUSED: Final = Hash32.zero()
_MAX_HEIGHT: Final = 256


class PriorityOpsBatchInfo(msgspec.Struct, frozen=True):
    """The priority transactions of a batch, and their range proof; the contract's struct of this name."""

    left_path: tuple[Hash32, ...] = ()
    right_path: tuple[Hash32, ...] = ()
    hashes: tuple[Hash32, ...] = ()


class Frontier(msgspec.Struct, frozen=True):
    """The tree after `count` transactions: a full subtree for each bit of `count`, lowest first."""

    count: int = 0
    nodes: tuple[bytes, ...] = ()

    @staticmethod
    def empty_root(height: int) -> Hash32:
        """Return the root of a subtree without leaves."""
        return _empty_root(height)

    def extend(self, hashes: Iterable[bytes]) -> Self:
        """Return the frontier after these transactions."""
        count, nodes = self.count, list(self.nodes)
        for item in hashes:
            nodes.insert(0, bytes(item))
            # As in a binary increment, each carry joins two subtrees of the same height.
            for _ in range(_trailing_ones(count)):
                nodes[:2] = [keccak256(nodes[1] + nodes[0])]
            count += 1
        return type(self)(count, tuple(nodes))

    def root(self) -> Hash32:
        """Return the root that L1 has after these transactions; zero if there are none."""
        if not self.count:
            return Hash32.zero()
        nodes = iter(self.nodes)
        first = next(height for height in range(_MAX_HEIGHT) if self.count >> height & 1)
        node = next(nodes)
        for height in range(first, height_of(self.count)):
            if self.count >> height & 1 and height > first:
                node = keccak256(next(nodes) + node)
            else:
                node = keccak256(node + self.empty_root(height))
        return Hash32(node)

    def prove(self, hashes: Sequence[bytes]) -> PriorityOpsBatchInfo:
        """Return the proof that `hashes` are the next transactions."""
        if not hashes:
            return PriorityOpsBatchInfo()
        height = height_of(self.count + len(hashes))
        left, first, last = [], self.count, self.count + len(hashes) - 1
        right = []
        for level in range(height):
            left.append(self.node(level) if first & 1 else _UNUSED)
            right.append(_UNUSED if last & 1 else self.empty_root(level))
            first, last = first >> 1, last >> 1
        return PriorityOpsBatchInfo(tuple(left), tuple(right), tuple(map(Hash32, hashes)))

    def node(self, height: int) -> Hash32:
        """Return the full subtree of a height, which there is if `count` has that bit."""
        below = (self.count & ((1 << height) - 1)).bit_count()
        return Hash32(self.nodes[below])


def rolling_hash(hashes: Iterable[bytes]) -> Hash32:
    """Return the hash that commits a batch to its priority transactions and their order."""
    rolling = bytes(EMPTY_LEAF)
    for item in hashes:
        rolling = keccak256(rolling + item)
    return Hash32(rolling)


def height_of(count: int) -> int:
    """Return the height of the smallest tree with `count` leaves."""
    return (count - 1).bit_length() if count else 0


@cache
def _empty_root(height: int) -> Hash32:
    return EMPTY_LEAF if not height else Hash32(keccak256(_empty_root(height - 1) * 2))


def _trailing_ones(number: int) -> int:
    return (~number & (number + 1)).bit_length() - 1
