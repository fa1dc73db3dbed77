// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {PriorityOpsBatchInfo} from "../interfaces/IExecutor.sol";
import {Merkle} from "../../shared/Merkle.sol";

/// @dev An empty leaf.
bytes32 constant EMPTY_ITEM = keccak256("");

/// @notice The append-only Merkle tree over the hashes of all priority transactions.
/// @dev The tree has the fewest levels that hold its items, and gains one when it is full. A batch is checked
/// against any root that the tree ever had, because new requests arrive while it settles. The height is stored
/// with each root, so that an inner node cannot pass for a transaction.
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

    /// @notice Initialize an empty tree.
    function setUp(Tree storage tree) internal {
        tree.zeros.push(EMPTY_ITEM);
        tree.root = EMPTY_ITEM;
    }

    /// @notice Append a transaction's hash.
    function push(Tree storage tree, bytes32 item) internal {
        uint256 levels = tree.sides.length;
        uint256 index = tree.size++;
        if (index == 1 << levels) {
            // The tree so far becomes the left half, and its root the left sibling of the new items.
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

    /// @notice Check that a batch has the next transactions in order, and mark them as processed.
    /// @dev Empty leaves are rejected: with them an operator could skip later requests, which no batch would
    /// have to include then.
    /// @return rollingHash The rolling hash over them, to which the batch is committed.
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
