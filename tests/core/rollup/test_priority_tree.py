"""The priority tree, compared with the algorithm of the contract."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from entresol._native import keccak256
from entresol.primitives.values import Hash32
from entresol.rollup.priority_tree import (
    EMPTY_LEAF,
    Frontier,
    PriorityOpsBatchInfo,
    height_of,
    rolling_hash,
)
from tests.support.contracts.merkle_trees import root_of_range

HASHES = [Hash32(keccak256(number.to_bytes(4))) for number in range(300)]


class PushTree:
    """The tree as the contract stores it: left sides and zeros by level, one more level when full."""

    def __init__(self) -> None:
        self._count = 0
        self._zeros = [bytes(EMPTY_LEAF)]
        self._sides = [bytes(32)]

    def push(self, leaf: bytes) -> bytes:
        levels, index = len(self._zeros) - 1, self._count
        self._count += 1
        if index == 1 << levels:
            self._zeros.append(keccak256(self._zeros[-1] * 2))
            self._sides.append(bytes(32))
            levels += 1
        node, updated = leaf, False
        for level in range(levels):
            if index % 2:
                node = keccak256(self._sides[level] + node)
            else:
                if not updated:
                    self._sides[level], updated = node, True
                node = keccak256(node + self._zeros[level])
            index >>= 1
        self._sides[levels] = node
        return node


def roots_of_l1(count: int) -> list[bytes]:
    tree = PushTree()
    return [tree.push(HASHES[number]) for number in range(count)]


ROOTS = roots_of_l1(len(HASHES))


def test_the_root_after_each_transaction_is_that_of_l1() -> None:
    frontier = Frontier()
    for number, expected in enumerate(ROOTS):
        frontier = frontier.extend([HASHES[number]])
        assert (frontier.count, frontier.root()) == (number + 1, expected)


def test_an_empty_tree_has_the_root_zero() -> None:
    assert Frontier().root() == Hash32.zero()


@given(st.integers(0, 290), st.integers(1, 10))
def test_the_proof_of_any_range_has_a_root_of_l1(start: int, count: int) -> None:
    frontier = Frontier().extend(HASHES[:start])
    proof = frontier.prove(HASHES[start : start + count])
    assert root_of_range(start, proof) == ROOTS[start + count - 1]
    assert len(proof.left_path) == len(proof.right_path) == height_of(start + count)


def test_a_batch_without_priority_transactions_has_empty_paths() -> None:
    assert Frontier().extend(HASHES[:5]).prove([]) == PriorityOpsBatchInfo((), (), ())


def test_the_rolling_hash_starts_at_the_empty_hash_and_adds_each_in_order() -> None:
    assert rolling_hash([]).hex() == (
        "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
    )
    assert rolling_hash(HASHES[:2]) == keccak256(keccak256(EMPTY_LEAF + HASHES[0]) + HASHES[1])
