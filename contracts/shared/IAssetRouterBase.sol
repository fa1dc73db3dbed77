// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice What the asset routers of both layers have in common. The selector of `finalizeDeposit`
/// begins a deposit's call to L2 as well as a withdrawal's message to L1.
interface IAssetRouterBase {
    /// @notice Hand an asset that the router of `chainId` took over there to its receiver here.
    /// @param chainId The chain the asset comes from.
    /// @param assetId The asset.
    /// @param transferData What the vault of that chain wrote, see `DataEncoding.encodeMint`.
    function finalizeDeposit(
        uint256 chainId,
        bytes32 assetId,
        bytes calldata transferData
    ) external payable;
}
