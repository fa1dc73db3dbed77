// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

// Some constants are named as the functions that clients call.
// solhint-disable const-name-snakecase

import {AddressAliasHelper} from "../shared/AddressAliasHelper.sol";
import {L2_ASSET_ROUTER, L2_MESSAGE_ROOT, L2_NATIVE_TOKEN_VAULT} from "../shared/Addresses.sol";
import {IInteropChains} from "./interfaces/IInterop.sol";
import {IL2NativeTokenVault} from "./interfaces/IL2NativeTokenVault.sol";

/// @notice The addresses of this chain's bridges, and the chains that bundles can be sent to.
contract L2Bridgehub is IInteropChains {
    /// @notice The asset router.
    address public constant assetRouter = L2_ASSET_ROUTER;
    /// @notice The same, under its older name.
    address public constant sharedBridge = L2_ASSET_ROUTER;
    /// @notice The message root of chains that settle on this one.
    address public constant messageRoot = L2_MESSAGE_ROOT;

    /// @inheritdoc IInteropChains
    /// @dev Set in the genesis.
    address public chainRegistrationSender;
    mapping(uint256 chainId => bytes32) private _baseTokens;

    /// @notice Bundles can be sent to a chain from now on.
    event ChainRegisteredForInterop(uint256 indexed chainId, bytes32 baseTokenAssetId);

    error Unauthorized(address caller);
    error ChainAlreadyRegistered(uint256 chainId);

    /// @notice Register a chain that bundles can be sent to, with its base token as L1 knows it.
    function registerChainForInterop(uint256 chainId, bytes32 assetId) external {
        if (msg.sender != AddressAliasHelper.applyL1ToL2Alias(chainRegistrationSender)) {
            revert Unauthorized(msg.sender);
        }
        // The base token of a chain does not change; bundles with another one would never be booked.
        if (_baseTokens[chainId] != bytes32(0)) revert ChainAlreadyRegistered(chainId);
        _baseTokens[chainId] = assetId;
        emit ChainRegisteredForInterop(chainId, assetId);
    }

    /// @inheritdoc IInteropChains
    function L1_CHAIN_ID() external view returns (uint256) {
        return IL2NativeTokenVault(L2_NATIVE_TOKEN_VAULT).L1_CHAIN_ID();
    }

    /// @inheritdoc IInteropChains
    function baseTokenAssetId(uint256 chainId) external view returns (bytes32) {
        if (chainId != block.chainid) return _baseTokens[chainId];
        return IL2NativeTokenVault(L2_NATIVE_TOKEN_VAULT).BASE_TOKEN_ASSET_ID();
    }
}
