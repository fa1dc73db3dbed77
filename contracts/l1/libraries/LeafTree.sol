// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {EMPTY_ROOT_ENTRY} from "./AppendTree.sol";
import {Merkle} from "../../shared/Merkle.sol";

/// @notice A Merkle tree whose leaves can be changed, with the fewest levels that hold them; one leaf is its own root.
library LeafTree {
    struct Tree {
        uint256 size;
        bytes32 root;
        mapping(uint256 level => mapping(uint256 index => bytes32)) nodes;
    }

    error LeafOutOfBounds(uint256 index, uint256 size);

    /// @notice Append a leaf, and return its index.
    function push(Tree storage tree, bytes32 leaf) internal returns (uint256 index) {
        index = tree.size++;
        set(tree, index, leaf);
    }

    /// @notice Change a leaf, and return the root.
    function set(
        Tree storage tree,
        uint256 index,
        bytes32 leaf
    ) internal returns (bytes32 current) {
        uint256 size = tree.size;
        if (index >= size) revert LeafOutOfBounds(index, size);
        current = leaf;
        bytes32 empty = EMPTY_ROOT_ENTRY;
        uint256 level = 0;
        // A level has nodes up to that of the last leaf; what is right of it is empty.
        for (uint256 last = size - 1; last != 0; last >>= 1) {
            tree.nodes[level][index] = current;
            if (index & 1 == 1) {
                current = Merkle.hash(tree.nodes[level][index - 1], current);
            } else {
                bytes32 right = index == last ? empty : tree.nodes[level][index + 1];
                current = Merkle.hash(current, right);
            }
            empty = Merkle.hash(empty, empty);
            index >>= 1;
            ++level;
        }
        tree.nodes[level][0] = current;
        tree.root = current;
    }
}
