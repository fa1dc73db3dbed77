// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {Merkle} from "../../shared/Merkle.sol";
import {DEFAULT_LEAF} from "../../shared/MessageHashing.sol";

/// @notice The tree over all logs of a batch, computed from the logs themselves.
library LogsTree {
    /// @dev The bytes of a packed log, see `L2Log`.
    uint256 internal constant LOG_SIZE = 88;
    uint256 internal constant DEPTH = 14;
    /// @dev More would not fit into a transaction; batches with bundles are sealed before.
    uint256 internal constant MAX_LOGS = 1024;

    error InvalidLogsLength(uint256 length);
    error LogIsEmpty(uint256 index);

    /// @notice The root of a batch, as its chain has committed it: over its logs, and over no other chain.
    function batchRoot(bytes calldata logs) internal pure returns (bytes32) {
        uint256 count = logs.length / LOG_SIZE;
        if (count > MAX_LOGS || count * LOG_SIZE != logs.length)
            revert InvalidLogsLength(logs.length);
        bytes32[] memory nodes = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            nodes[i] = keccak256(logs[i * LOG_SIZE:(i + 1) * LOG_SIZE]);
            // It would be a leaf that the tree has anyway: the same root by other logs.
            if (nodes[i] == DEFAULT_LEAF) revert LogIsEmpty(i);
        }
        bytes32 empty = DEFAULT_LEAF;
        for (uint256 level = 0; level < DEPTH; ++level) {
            uint256 parents = (count + 1) / 2;
            for (uint256 i = 0; i < parents; ++i) {
                bytes32 right = 2 * i + 1 < count ? nodes[2 * i + 1] : empty;
                nodes[i] = Merkle.hash(nodes[2 * i], right);
            }
            count = parents;
            empty = Merkle.hash(empty, empty);
        }
        return Merkle.hash(count == 0 ? empty : nodes[0], bytes32(0));
    }
}
