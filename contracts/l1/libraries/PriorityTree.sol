// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {PriorityOpsBatchInfo} from "../interfaces/IExecutor.sol";
import {Merkle} from "./Merkle.sol";

/// @dev What stands where no transaction is yet.
bytes32 constant EMPTY_ITEM = keccak256("");

/// @notice The hashes of all priority transactions, as a Merkle tree that only grows.
/// @dev The tree has the fewest levels that hold its items, and gains one when they are full. A batch is
/// checked against any root the tree ever had, because requests keep coming while it settles. With a root
/// its height is remembered, so that nobody can pass off inner nodes as transactions.
library PriorityTree {
    struct Tree {
        uint256 size;
        uint256 processed;
        bytes32 root;
        bytes32[] zeros;
        bytes32[] sides;
        mapping(bytes32 root => uint256) heightPlusOne;
    }

    error PriorityTreeRootUnknown(bytes32 root);
    error PriorityTreeItemEmpty(uint256 index);

    /// @notice Make the tree an empty one.
    function setUp(Tree storage tree) internal {
        tree.zeros.push(EMPTY_ITEM);
        tree.root = EMPTY_ITEM;
    }

    /// @notice Append a transaction's hash.
    function push(Tree storage tree, bytes32 item) internal {
        uint256 levels = tree.sides.length;
        uint256 index = tree.size++;
        if (index == 1 << levels) {
            // The tree so far becomes the left half, and its root the left neighbour of what comes.
            bytes32 zero = tree.zeros[levels];
            tree.zeros.push(Merkle.hash(zero, zero));
            tree.sides.push(tree.root);
            ++levels;
        }
        bytes32 current = item;
        bool isComplete = true;
        for (uint256 level = 0; level < levels; ++level) {
            if (index & 1 == 0) {
                if (isComplete) tree.sides[level] = current;
                isComplete = false;
                current = Merkle.hash(current, tree.zeros[level]);
            } else {
                current = Merkle.hash(tree.sides[level], current);
            }
            index >>= 1;
        }
        tree.root = current;
        tree.heightPlusOne[current] = levels + 1;
    }

    /// @notice Check that a batch ran the next transactions in their order, and go past them.
    /// @dev What fills up the tree is no transaction: whoever passed it off as one could go past requests
    /// that came later, which no batch would ever have to run.
    /// @return rollingHash The hash over them, as the batch committed to it.
    function process(
        Tree storage tree,
        PriorityOpsBatchInfo memory ops
    ) internal returns (bytes32 rollingHash) {
        rollingHash = EMPTY_ITEM;
        uint256 count = ops.itemHashes.length;
        if (count == 0) return rollingHash;
        for (uint256 i = 0; i < count; ++i) {
            if (ops.itemHashes[i] == EMPTY_ITEM) revert PriorityTreeItemEmpty(tree.processed + i);
            rollingHash = Merkle.hash(rollingHash, ops.itemHashes[i]);
        }
        bytes32 root = Merkle.rootOfRange(
            ops.leftPath,
            ops.rightPath,
            tree.processed,
            ops.itemHashes
        );
        if (tree.heightPlusOne[root] != ops.leftPath.length + 1) {
            revert PriorityTreeRootUnknown(root);
        }
        tree.processed += count;
    }
}
