// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice The vault's books of what chains send to each other; only the message root may change them.
interface IInteropVault {
    /// @notice Take what a batch sends from the books of its chain, and add it to those of the destination.
    /// @dev The chain that an asset comes from may send any amount of it, and has no balance.
    function moveChainBalance(
        uint256 source,
        uint256 destination,
        uint256 batchNumber,
        bytes32 assetId,
        uint256 amount
    ) external;

    /// @notice Register an asset that L1 has not seen yet, if it comes from this chain, and return the amount sent.
    /// @dev Its token is deployed by its first withdrawal to L1.
    /// @param transferData What one vault sends to the other, see `DataEncoding.encodeMint`.
    function ensureAssetOfChain(
        uint256 chainId,
        bytes32 assetId,
        bytes calldata transferData
    ) external returns (uint256 amount);
}
