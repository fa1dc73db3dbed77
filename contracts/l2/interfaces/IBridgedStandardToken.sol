// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice A bridged token, which only the vault mints and burns.
interface IBridgedStandardToken {
    /// @notice The token was initialized as the bridged token of `originToken`.
    event BridgeInitialize(address indexed originToken, string name, string symbol, uint8 decimals);
    /// @notice `amount` was minted to `account`.
    event BridgeMint(address indexed account, uint256 amount);
    /// @notice `amount` of `account` was burnt.
    event BridgeBurn(address indexed account, uint256 amount);

    /// @notice Initialize the token, once. Only the vault.
    function bridgeInitialize(
        bytes32 asset,
        address token,
        string calldata tokenName,
        string calldata tokenSymbol,
        uint8 tokenDecimals
    ) external;

    /// @notice Mint `amount` to `account`. Only the vault.
    function bridgeMint(address account, uint256 amount) external;

    /// @notice Burn `amount` of `account`. Only the vault.
    function bridgeBurn(address account, uint256 amount) external;

    /// @notice The asset id of the token.
    function assetId() external view returns (bytes32);

    /// @notice The token's address on its origin chain.
    function originToken() external view returns (address);

    /// @notice The same, under its older name.
    function l1Address() external view returns (address);

    /// @notice The asset router, through which it is withdrawn.
    function l2Bridge() external view returns (address);

    /// @notice The vault that mints and burns the token.
    function nativeTokenVault() external view returns (address);
}
