// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {Merkle} from "../../shared/Merkle.sol";
import {DEFAULT_LEAF} from "../../shared/MessageHashing.sol";

/// @notice The tree over all logs of a batch, computed from the logs themselves.
library LogsTree {
    /// @dev The bytes of a packed log, see `L2Log`.
    uint256 internal constant LOG_SIZE = 88;
    uint256 internal constant DEPTH = 14;
    /// @dev The positions in a packed log.
    uint256 private constant SENDER_AT = 4;
    uint256 private constant KEY_AT = 24;
    uint256 private constant VALUE_AT = 56;
    /// @dev More would not fit into a transaction; batches with bundles are sealed before.
    uint256 internal constant MAX_LOGS = 1024;

    /// @notice Some of the logs of a batch, a bit each.
    struct LogSet {
        uint256[MAX_LOGS / 256] words;
    }

    error InvalidLogsLength(uint256 length);
    error LogIsEmpty(uint256 index);

    /// @notice The root of a batch, as its chain has committed it: over its logs, and over no other chain.
    function batchRoot(bytes calldata logs) internal pure returns (bytes32) {
        return _rootOf(_leavesOf(logs));
    }

    /// @notice The root of a batch in which some logs have empty leaves.
    function batchRootWithout(
        bytes calldata logs,
        LogSet memory leftOut
    ) internal pure returns (bytes32) {
        bytes32[] memory leaves = _leavesOf(logs);
        for (uint256 i = 0; i < leaves.length; ++i) if (has(leftOut, i)) leaves[i] = DEFAULT_LEAF;
        return _rootOf(leaves);
    }

    /// @notice Who wrote a log, under which key, and what; of logs whose length was checked by their root.
    function read(
        bytes calldata logs,
        uint256 index
    ) internal pure returns (address sender, bytes32 key, bytes32 value) {
        assembly ("memory-safe") {
            let log := add(logs.offset, mul(index, LOG_SIZE))
            sender := shr(96, calldataload(add(log, SENDER_AT)))
            key := calldataload(add(log, KEY_AT))
            value := calldataload(add(log, VALUE_AT))
        }
    }

    /// @notice Add a log to a set.
    function add(LogSet memory set, uint256 index) internal pure {
        set.words[index >> 8] |= 1 << (index & 0xff);
    }

    /// @notice Whether a log is in a set.
    function has(LogSet memory set, uint256 index) internal pure returns (bool) {
        return (set.words[index >> 8] >> (index & 0xff)) & 1 == 1;
    }

    /// @notice Whether no log is in a set.
    function isEmpty(LogSet storage set) internal view returns (bool) {
        for (uint256 i = 0; i < set.words.length; ++i) if (set.words[i] != 0) return false;
        return true;
    }

    function _leavesOf(bytes calldata logs) private pure returns (bytes32[] memory leaves) {
        uint256 count = logs.length / LOG_SIZE;
        if (count > MAX_LOGS || count * LOG_SIZE != logs.length)
            revert InvalidLogsLength(logs.length);
        leaves = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            bytes32 leaf;
            assembly ("memory-safe") {
                let free := mload(0x40)
                calldatacopy(free, add(logs.offset, mul(i, LOG_SIZE)), LOG_SIZE)
                leaf := keccak256(free, LOG_SIZE)
            }
            // It would be a leaf that the tree has anyway: the same root by other logs.
            if (leaf == DEFAULT_LEAF) revert LogIsEmpty(i);
            leaves[i] = leaf;
        }
    }

    function _rootOf(bytes32[] memory nodes) private pure returns (bytes32) {
        uint256 count = nodes.length;
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
