// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Functions of the vault that other contracts of this chain call.
interface IL2NativeTokenVault {
    /// @notice The chain id of the settlement layer.
    function L1_CHAIN_ID() external view returns (uint256);

    /// @notice The asset id of the base token.
    function BASE_TOKEN_ASSET_ID() external view returns (bytes32);

    /// @notice The asset id of a token; zero if it is not registered.
    function assetId(address token) external view returns (bytes32);

    /// @notice The origin chain of an asset; zero if it is not registered.
    function originChainId(bytes32 asset) external view returns (uint256);

    /// @notice The token of an asset on this chain; zero if it is not registered.
    function tokenAddress(bytes32 asset) external view returns (address);

    /// @notice The token's address on its origin chain; zero if it is not registered.
    function originToken(bytes32 asset) external view returns (address);

    /// @notice The bridged token of `l1Token`; zero before its first deposit.
    function l2TokenAddress(address l1Token) external view returns (address);

    /// @notice The address of the bridged token that the first deposit of a token of another chain deploys.
    function calculateCreate2TokenAddress(
        uint256 tokenOriginChainId,
        address token
    ) external view returns (address);

    /// @notice Pay a deposit from `chainId` to its receiver. Only the asset router.
    /// @param data The data of that chain's vault, see `DataEncoding.encodeMint`.
    function bridgeMint(uint256 chainId, bytes32 asset, bytes calldata data) external;

    /// @notice Collect what `originalCaller` sends to `chainId`. Only the asset router.
    /// @param value The amount of the base token; unused.
    /// @param data The withdrawal, see `DataEncoding.encodeBurn`.
    /// @return mintData The data for that chain's vault, see `DataEncoding.encodeMint`.
    function bridgeBurn(
        uint256 chainId,
        uint256 value,
        bytes32 asset,
        address originalCaller,
        bytes calldata data
    ) external payable returns (bytes memory mintData);
}
