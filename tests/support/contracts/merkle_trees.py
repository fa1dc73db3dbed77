"""The trees that L1 checks, written down plainly: no padding is skipped, no hash is cached."""

from __future__ import annotations

from collections.abc import Sequence

from entresol._native import keccak256
from entresol.primitives.l2_to_l1_logs import DEFAULT_LEAF, L1_MESSENGER, TREE_DEPTH, L2ToL1Log
from entresol.primitives.values import Address, Hash32
from entresol.rollup.priority_tree import PriorityOpsBatchInfo

HEIGHT = 14
METADATA = bytes([1, HEIGHT + 1, 0, 1]) + bytes(28)
"""The first word of a proof: its version, the siblings, no proof of a further chain, and that it ends there."""
AGGREGATED_ROOT = bytes(32)
EMPTY = keccak256(b"")
NO_LOG = L2ToL1Log.unpack(bytes(88))
"""A log whose leaf is an empty one: the tree without a bundle has it in its place."""


def root_of(logs: Sequence[L2ToL1Log]) -> bytes:
    local = _levels([keccak256(log.pack()) for log in logs])[-1][0]
    return keccak256(local + AGGREGATED_ROOT)


def proof_of(logs: Sequence[L2ToL1Log], index: int) -> list[bytes]:
    return [METADATA, *path_of(logs, index), AGGREGATED_ROOT]


def path_of(logs: Sequence[L2ToL1Log], index: int) -> list[bytes]:
    """Return the siblings from the log up to the root over the logs."""
    levels = _levels([keccak256(log.pack()) for log in logs])
    path = []
    for height, level in enumerate(levels[:-1]):
        sibling = index >> height ^ 1
        path.append(level[sibling] if sibling < len(level) else _default(height))
    return path


def _levels(leaves: Sequence[bytes]) -> list[list[bytes]]:
    levels = [list(leaves) or [bytes(DEFAULT_LEAF)]]
    for height in range(HEIGHT):
        nodes = levels[-1]
        if len(nodes) % 2:
            nodes = [*nodes, _default(height)]
        levels.append([keccak256(a + b) for a, b in zip(nodes[::2], nodes[1::2], strict=True)])
    return levels


def _default(height: int) -> bytes:
    node = bytes(DEFAULT_LEAF)
    for _ in range(height):
        node = keccak256(node + node)
    return node


def priority_levels(items: Sequence[bytes]) -> list[list[bytes]]:
    size = 1
    while size < len(items):
        size *= 2
    levels = [[*items, *[EMPTY] * (size - len(items))]]
    while len(levels[-1]) > 1:
        nodes = levels[-1]
        levels.append([keccak256(a + b) for a, b in zip(nodes[::2], nodes[1::2], strict=True)])
    return levels


def range_paths(items: Sequence[bytes], start: int, count: int) -> tuple[list[bytes], list[bytes]]:
    """Return the siblings of both ends of a range of the tree of all requests."""
    left, right = [], []
    first, last = start, start + count - 1
    for level in priority_levels(items)[:-1]:
        left.append(level[first - 1] if first % 2 else bytes(32))
        right.append(bytes(32) if last % 2 else level[last + 1])
        first, last = first // 2, last // 2
    return left, right


def rolling_hash(items: Sequence[bytes]) -> bytes:
    result = EMPTY
    for item in items:
        result = keccak256(result + item)
    return result


def message_log(tx_number: int, sender: Address, message: bytes) -> L2ToL1Log:
    key, value = Hash32(sender.rjust(32, b"\0")), Hash32(keccak256(message))
    return L2ToL1Log(tx_number=tx_number, sender=L1_MESSENGER, key=key, value=value)


MAX_PRIORITY_TREE_HEIGHT = 256


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
