// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice The common interface of the asset routers of both layers. Both a deposit's call to L2 and a
/// withdrawal's message to L1 start with the selector of `finalizeDeposit`.
interface IAssetRouterBase {
    /// @notice Pay an asset, which the router of `chainId` collected there, to its receiver here.
    /// @param chainId The chain the asset comes from.
    /// @param assetId The asset.
    /// @param transferData The data of that chain's vault, see `DataEncoding.encodeMint`.
    function finalizeDeposit(
        uint256 chainId,
        bytes32 assetId,
        bytes calldata transferData
    ) external payable;
}
