// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {InteropRoot} from "../../shared/Interop.sol";

/// @notice The roots of all chains, gathered into one that every chain imports.
interface IMessageRoot {
    /// @notice A chain has its leaf in the tree of chains.
    event AddedChain(uint256 indexed chainId, uint256 indexed chainIndex);
    /// @notice A bundle of a batch cannot be booked now, so the root that is added next has no leaf of it.
    /// @param reason The error that it meets, say that its value is not covered.
    event BundleLeftOut(
        uint256 indexed chainId,
        uint256 indexed batchNumber,
        uint256 indexed logIndex,
        bytes reason
    );
    /// @notice The root of a batch is part of its chain's tree, without the bundles that are left out.
    event AppendedChainBatchRoot(
        uint256 indexed chainId,
        uint256 indexed batchNumber,
        bytes32 chainBatchRoot
    );
    /// @notice The leaf of a chain has changed.
    event NewChainRoot(uint256 indexed chainId, bytes32 chainRoot, bytes32 chainIdLeafHash);
    /// @notice There is a new root over all chains; the last one of a block counts.
    event NewInteropRoot(
        uint256 indexed chainId,
        uint256 indexed blockNumber,
        uint256 indexed logId,
        uint256 timestamp,
        bytes32[] sides
    );

    /// @notice Give a chain its leaf; only the bridgehub, which registers it.
    function addNewChain(uint256 chainId) external;

    /// @notice Book what an executed batch sends to other chains, and add its root.
    /// @dev Bundles that cannot be booked are left out, and none decides for others. As long as there are some, anyone
    /// can call it again, which books what can be by then, and adds a root with that; it reverts with the reason of the
    /// first one if that is none.
    /// @param logs All logs of the batch, packed.
    /// @param messages The bundles among its messages, in order.
    function settle(
        uint256 chainId,
        uint256 batchNumber,
        bytes calldata logs,
        bytes[] calldata messages
    ) external;

    /// @notice Book one bundle, or nothing of it; only this contract itself.
    function bookBundle(uint256 source, uint256 batchNumber, bytes calldata message) external;

    /// @notice Whether the root of a batch was added, and all of its bundles are booked.
    function isSettled(uint256 chainId, uint256 batchNumber) external view returns (bool);

    /// @notice Whether the root of a batch was added, but without this bundle.
    function isLeftOut(
        uint256 chainId,
        uint256 batchNumber,
        uint256 logIndex
    ) external view returns (bool);

    /// @notice The root over all chains at the end of a block of L1, and its time; zeros if none was added in it.
    function historicalRoot(
        uint256 blockNumber
    ) external view returns (bytes32 root, uint256 timestamp);

    /// @notice Check that a chain has imported roots of L1, and return the hash over them.
    function checkRoots(InteropRoot[] calldata roots) external view returns (bytes32 rollingHash);
}
