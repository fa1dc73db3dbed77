// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Holds everything that was deposited.
interface IL1NativeTokenVault {
    /// @notice Something was paid out to an account, coming from a chain.
    event BridgeMint(
        uint256 indexed chainId,
        bytes32 indexed assetId,
        address receiver,
        uint256 amount
    );
    /// @notice Something was taken over from an account, going to a chain.
    event BridgeBurn(
        uint256 indexed chainId,
        bytes32 indexed assetId,
        address indexed sender,
        address receiver,
        uint256 amount
    );
    /// @notice A token can be deposited from now on.
    event TokenRegistered(bytes32 indexed assetId, address indexed token);

    /// @notice The asset that a registered token is, or zero.
    function assetId(address token) external view returns (bytes32);

    /// @notice The token that a registered asset is, or zero.
    function tokenAddress(bytes32 assetId) external view returns (address);

    /// @notice The chain that a registered asset lives on, or zero.
    function originChainId(bytes32 assetId) external view returns (uint256);

    /// @notice How much of an asset a chain may still send back; zero for the one it lives on, which may any.
    function chainBalance(uint256 chainId, bytes32 assetId) external view returns (uint256);

    /// @notice Make a token one that can be deposited; everybody may.
    function registerToken(address token) external;

    /// @notice The same, but without an error if it is one.
    /// @return The asset that the token is.
    function ensureTokenIsRegistered(address token) external returns (bytes32);

    /// @notice Register the token that a deposit's data names, if it is the asset that is expected.
    function tryRegisterTokenFromBurnData(
        bytes calldata burnData,
        bytes32 expectedAssetId
    ) external;

    /// @notice How a token describes itself, for the L2 to make one like it.
    function getERC20Getters(
        address token,
        uint256 originChainId_
    ) external view returns (bytes memory);

    /// @notice Take over what is deposited. Only the asset router may.
    /// @param data Amount, receiver on L2 and token; see `DataEncoding.encodeBurn`.
    /// @return bridgeMintData What to tell the vault on L2; see `DataEncoding.encodeMint`.
    function bridgeBurn(
        uint256 chainId,
        uint256 msgValue,
        bytes32 assetId,
        address originalCaller,
        bytes calldata data
    ) external payable returns (bytes memory bridgeMintData);

    /// @notice Pay out a withdrawal. Only the asset router may.
    /// @param data What the vault on L2 wrote; see `DataEncoding.encodeMint`.
    function bridgeMint(uint256 chainId, bytes32 assetId, bytes calldata data) external payable;

    /// @notice Pay back a deposit. Only the asset router may.
    function bridgeRecoverFailedTransfer(
        uint256 chainId,
        bytes32 assetId,
        address depositSender,
        bytes calldata data
    ) external payable;
}
