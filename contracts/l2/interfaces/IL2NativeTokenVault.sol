// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice The vault as the other contracts of this layer see it.
interface IL2NativeTokenVault {
    /// @notice The id of the chain that this one settles on.
    function L1_CHAIN_ID() external view returns (uint256);

    /// @notice The asset that gas is paid in.
    function BASE_TOKEN_ASSET_ID() external view returns (bytes32);

    /// @notice The asset that a token of this chain stands for; zero for one that is not registered.
    function assetId(address token) external view returns (bytes32);

    /// @notice The chain that an asset lives on; zero for one that is not registered.
    function originChainId(bytes32 asset) external view returns (uint256);

    /// @notice The token that stands for an asset here; zero for one that is not registered.
    function tokenAddress(bytes32 asset) external view returns (address);

    /// @notice The token's address on the chain that it lives on; zero for one that is not registered.
    function originToken(bytes32 asset) external view returns (address);

    /// @notice Where the token of L1 `l1Token` is here, or will be after its first deposit.
    function l2TokenAddress(address l1Token) external view returns (address);

    /// @notice Give an asset that came from `chainId` to its receiver; for the asset router only.
    /// @param data What the vault of that chain wrote, see `DataEncoding.encodeMint`.
    function bridgeMint(uint256 chainId, bytes32 asset, bytes calldata data) external;

    /// @notice Take an asset from `originalCaller` to send it to `chainId`; for the asset router only.
    /// @param value What the base token would add to it; nothing here.
    /// @param data What to take, see `DataEncoding.encodeBurn`.
    /// @return mintData What the vault of that chain needs to know, see `DataEncoding.encodeMint`.
    function bridgeBurn(
        uint256 chainId,
        uint256 value,
        bytes32 asset,
        address originalCaller,
        bytes calldata data
    ) external returns (bytes memory mintData);
}
