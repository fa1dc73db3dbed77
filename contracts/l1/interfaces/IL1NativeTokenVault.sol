// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice The vault that holds all deposits.
interface IL1NativeTokenVault {
    /// @notice A withdrawal from a chain was paid out.
    event BridgeMint(
        uint256 indexed chainId,
        bytes32 indexed assetId,
        address receiver,
        uint256 amount
    );
    /// @notice A deposit to a chain was collected.
    event BridgeBurn(
        uint256 indexed chainId,
        bytes32 indexed assetId,
        address indexed sender,
        address receiver,
        uint256 amount
    );
    /// @notice A token was registered for deposits.
    event TokenRegistered(bytes32 indexed assetId, address indexed token);

    /// @notice Zero: there is no wrapped ether with rules of its own; any one is a token like others.
    function WETH_TOKEN() external view returns (address);

    /// @notice The asset id of a registered token, or zero.
    function assetId(address token) external view returns (bytes32);

    /// @notice The token of a registered asset, or zero.
    function tokenAddress(bytes32 assetId) external view returns (address);

    /// @notice The origin chain of a registered asset, or zero.
    function originChainId(bytes32 assetId) external view returns (uint256);

    /// @notice How much of an asset a chain may withdraw; zero for its origin chain, which is not limited.
    function chainBalance(uint256 chainId, bytes32 assetId) external view returns (uint256);

    /// @notice Register a token for deposits; open to any caller.
    function registerToken(address token) external;

    /// @notice Register a token for deposits, unless it is registered.
    /// @return The asset id of the token.
    function ensureTokenIsRegistered(address token) external returns (bytes32);

    /// @notice Register the token of a deposit's data, if it has the expected asset id.
    function tryRegisterTokenFromBurnData(
        bytes calldata burnData,
        bytes32 expectedAssetId
    ) external;

    /// @notice The encoded name, symbol and decimals of a token, for its bridged token on L2.
    function getERC20Getters(
        address token,
        uint256 originChainId_
    ) external view returns (bytes memory);

    /// @notice Collect a deposit. Only the asset router.
    /// @param data Amount, receiver on L2 and token; see `DataEncoding.encodeBurn`.
    /// @return bridgeMintData The data for the vault on L2; see `DataEncoding.encodeMint`.
    function bridgeBurn(
        uint256 chainId,
        uint256 msgValue,
        bytes32 assetId,
        address originalCaller,
        bytes calldata data
    ) external payable returns (bytes memory bridgeMintData);

    /// @notice Pay out a withdrawal. Only the asset router.
    /// @param data The data of the vault on L2; see `DataEncoding.encodeMint`.
    function bridgeMint(uint256 chainId, bytes32 assetId, bytes calldata data) external payable;

    /// @notice Refund a deposit. Only the asset router.
    function bridgeRecoverFailedTransfer(
        uint256 chainId,
        bytes32 assetId,
        address depositSender,
        bytes calldata data
    ) external payable;
}
