// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {BOOTLOADER} from "../../shared/Addresses.sol";
import {InteropRoot} from "../../shared/Interop.sol";

/// @notice The roots over all chains that this chain has imported from L1.
contract L2InteropRootStorage {
    /// @notice The root of a block of L1; zero if it was not imported.
    mapping(uint256 chainId => mapping(uint256 blockNumber => bytes32)) public interopRoots;

    /// @notice A root was imported.
    event InteropRootAdded(uint256 indexed chainId, uint256 indexed blockNumber, bytes32[] sides);

    error Unauthorized(address caller);
    error SidesLengthNotOne(uint256 length);
    error InteropRootIsZero();
    error InteropTimestampIsZero();
    error InteropRootAlreadyExists(uint256 chainId, uint256 blockNumber);

    /// @notice Import roots; only by a transaction of the node itself.
    function addInteropRootsInBatch(InteropRoot[] calldata roots) external {
        if (msg.sender != BOOTLOADER) revert Unauthorized(msg.sender);
        for (uint256 i = 0; i < roots.length; ++i) _add(roots[i]);
    }

    function _add(InteropRoot calldata root) private {
        if (root.sides.length != 1) revert SidesLengthNotOne(root.sides.length);
        if (root.sides[0] == bytes32(0)) revert InteropRootIsZero();
        if (root.timestamp == 0) revert InteropTimestampIsZero();
        uint256 blockNumber = root.blockOrBatchNumber;
        if (interopRoots[root.chainId][blockNumber] != bytes32(0)) {
            revert InteropRootAlreadyExists(root.chainId, blockNumber);
        }
        interopRoots[root.chainId][blockNumber] = root.sides[0];
        emit InteropRootAdded(root.chainId, blockNumber, root.sides);
    }
}
