// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

// Some constants are named as the functions that clients call.
// solhint-disable const-name-snakecase

import {L2_ASSET_ROUTER, L2_MESSAGE_ROOT, L2_NATIVE_TOKEN_VAULT} from "../shared/Addresses.sol";
import {IL2NativeTokenVault} from "./interfaces/IL2NativeTokenVault.sol";

/// @notice The addresses of this chain's bridges; it does not forward to other chains.
contract L2Bridgehub {
    /// @notice The asset router.
    address public constant assetRouter = L2_ASSET_ROUTER;
    /// @notice The same, under its older name.
    address public constant sharedBridge = L2_ASSET_ROUTER;
    /// @notice The message root of chains that settle on this one.
    address public constant messageRoot = L2_MESSAGE_ROOT;

    /// @notice The chain id of the settlement layer.
    function L1_CHAIN_ID() external view returns (uint256) {
        return IL2NativeTokenVault(L2_NATIVE_TOKEN_VAULT).L1_CHAIN_ID();
    }

    /// @notice The asset id of the base token; of this chain only.
    function baseTokenAssetId(uint256 chainId) external view returns (bytes32) {
        if (chainId != block.chainid) return bytes32(0);
        return IL2NativeTokenVault(L2_NATIVE_TOKEN_VAULT).BASE_TOKEN_ASSET_ID();
    }
}
