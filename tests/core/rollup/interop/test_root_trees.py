"""Trees of roots are those of the contract, as plain trees have them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from entresol._native import keccak256
from entresol.rollup.interop.root_trees import (
    BatchFrontier,
    ChainTree,
    LeafTree,
    MessageTrees,
    batch_leaf,
    chain_leaf,
)
from tests.support.contracts import bundles
from tests.support.contracts.bundles import tree_levels, tree_path, tree_root


def leaves(count: int, start: int = 0) -> list[bytes]:
    return [keccak256(number.to_bytes(4)) for number in range(start, start + count)]


@given(st.integers(0, 70), st.integers(0, 20))
def test_a_frontier_has_the_root_of_the_whole_tree_and_the_paths_of_its_last_leaves(
    before: int, after: int
) -> None:
    old, new = leaves(before), leaves(after, before)
    frontier = BatchFrontier().extend(old)
    assert frontier.root() == (tree_root(old) if old else bytes(32))
    levels = tree_levels([*old, *new])
    expected = [tuple(tree_path(levels, before + index)) for index in range(after)]
    assert frontier.paths(new) == expected


@given(st.lists(st.tuples(st.integers(0, 40), st.binary(min_size=32, max_size=32)), max_size=60))
def test_a_tree_whose_leaves_change_has_the_root_and_the_paths_of_a_new_one(
    changes: list[tuple[int, bytes]],
) -> None:
    plain = leaves(1)
    tree = LeafTree(plain)
    for index, leaf in changes:
        if index >= len(plain):
            plain.append(leaf)
            tree.append(leaf)
        else:
            plain[index] = leaf
            tree.set(index, leaf)
        assert tree.root == tree_root(plain) == LeafTree(plain).root
    levels = tree_levels(plain)
    for index in range(len(plain)):
        assert tree.path(index) == tuple(tree_path(levels, index))


def test_leaves_are_those_of_the_contract() -> None:
    root = keccak256(b"root")
    assert batch_leaf(root, 7, 1_000) == bundles.batch_leaf(root, 7, 1_000)
    assert chain_leaf(root, 270) == bundles.chain_leaf(root, 270)


def test_encoded_trees_are_read_as_they_were() -> None:
    trees = MessageTrees(9, (ChainTree(270, BatchFrontier().extend(leaves(5))), ChainTree(271)))
    read = MessageTrees.decode(trees.encode())
    assert read == trees
    assert read.root() == trees.root()
    assert read.chains[0].batches.paths(leaves(2, 5)) == trees.chains[0].batches.paths(leaves(2, 5))
