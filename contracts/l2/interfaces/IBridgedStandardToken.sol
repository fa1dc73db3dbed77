// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice What makes a token a bridged one: only the vault makes and destroys it.
interface IBridgedStandardToken {
    /// @notice The token stands for `originToken` from now on.
    event BridgeInitialize(address indexed originToken, string name, string symbol, uint8 decimals);
    /// @notice `amount` came for `account`.
    event BridgeMint(address indexed account, uint256 amount);
    /// @notice `amount` of `account` left.
    event BridgeBurn(address indexed account, uint256 amount);

    /// @notice Say once what the token stands for; for the vault only.
    function bridgeInitialize(
        bytes32 asset,
        address token,
        string calldata tokenName,
        string calldata tokenSymbol,
        uint8 tokenDecimals
    ) external;

    /// @notice Make `amount` for `account`; for the vault only.
    function bridgeMint(address account, uint256 amount) external;

    /// @notice Destroy `amount` of what `account` owns; for the vault only.
    function bridgeBurn(address account, uint256 amount) external;

    /// @notice The asset that the token stands for.
    function assetId() external view returns (bytes32);

    /// @notice The token's address on the chain that it lives on.
    function originToken() external view returns (address);

    /// @notice The same under its older name.
    function l1Address() external view returns (address);

    /// @notice The contract to withdraw through.
    function l2Bridge() external view returns (address);

    /// @notice The contract that makes and destroys the token.
    function nativeTokenVault() external view returns (address);
}
