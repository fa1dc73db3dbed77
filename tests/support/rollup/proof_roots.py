"""The roots of proofs, as L1 computes them."""

from __future__ import annotations

from collections.abc import Sequence

from entresol._native import keccak256
from entresol.primitives.l2_to_l1_logs import DEFAULT_LEAF, TREE_DEPTH
from entresol.primitives.values import Hash32
from entresol.rollup.priority_tree import PriorityOpsBatchInfo

MAX_PRIORITY_TREE_HEIGHT = 256
METADATA = bytes([1, TREE_DEPTH + 1, 0, 1]) + bytes(28)
"""The first word of a proof: its version, the siblings, no proof of a further chain, and that it ends there."""


def root_of_proof(leaf: bytes, index: int, words: Sequence[bytes]) -> Hash32 | None:
    """Return the root of a proof, as L1 computes it; None if L1 rejects the proof."""
    if leaf == DEFAULT_LEAF or not words or words[0] != METADATA:
        return None
    path = words[1:]
    if len(path) != TREE_DEPTH + 1 or not 0 <= index < 1 << len(path):
        return None
    node = bytes(leaf)
    for height, sibling in enumerate(path):
        node = keccak256(sibling + node if index >> height & 1 else node + sibling)
    return Hash32(node)


def root_of_range(start: int, proof: PriorityOpsBatchInfo) -> Hash32:
    level, height = list(proof.hashes), len(proof.left_path)
    if height != len(proof.right_path) or height >= MAX_PRIORITY_TREE_HEIGHT:
        raise ValueError("the two paths differ in length, or are too long")
    if not level or start + len(level) > 1 << height:
        raise ValueError("the transactions do not fit into a tree of that height")
    for left, right in zip(proof.left_path, proof.right_path, strict=True):
        if start & 1:
            level.insert(0, left)
        if len(level) & 1:
            level.append(right)
        pairs = zip(level[::2], level[1::2], strict=True)
        level = [Hash32(keccak256(one + other)) for one, other in pairs]
        start >>= 1
    return level[0]
