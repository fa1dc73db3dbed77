// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {Merkle} from "../../shared/Merkle.sol";

/// @dev An empty entry of a tree of roots.
bytes32 constant EMPTY_ROOT_ENTRY = keccak256(
    hex"000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
);

/// @notice An append-only Merkle tree with the fewest levels that hold its leaves; one leaf is its own root.
/// @dev It keeps of each level the last left node that is complete, which is all that later leaves need.
library AppendTree {
    struct Tree {
        uint256 size;
        bytes32 root;
        bytes32[] sides;
    }

    /// @notice Append a leaf, and return the root.
    function push(Tree storage tree, bytes32 leaf) internal returns (bytes32 current) {
        uint256 index = tree.size++;
        uint256 levels = tree.sides.length;
        if (index == 1 << levels) {
            // The tree so far becomes the left half, and its root the left sibling of the new leaves.
            tree.sides.push(tree.root);
            ++levels;
        }
        current = leaf;
        bytes32 empty = EMPTY_ROOT_ENTRY;
        bool isComplete = true;
        for (uint256 level = 0; level < levels; ++level) {
            if (index & 1 == 0) {
                if (isComplete) tree.sides[level] = current;
                isComplete = false;
                current = Merkle.hash(current, empty);
            } else {
                current = Merkle.hash(tree.sides[level], current);
            }
            empty = Merkle.hash(empty, empty);
            index >>= 1;
        }
        tree.root = current;
    }
}
