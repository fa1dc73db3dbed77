// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

// Some constants have the names of the functions that clients call.
// solhint-disable const-name-snakecase

import {L2_ASSET_ROUTER, L2_MESSAGE_ROOT, L2_NATIVE_TOKEN_VAULT} from "../shared/Addresses.sol";
import {IL2NativeTokenVault} from "./interfaces/IL2NativeTokenVault.sol";

/// @notice Where the bridges of this chain are; no other chain can be reached through it.
contract L2Bridgehub {
    /// @notice The contract that assets come and go through.
    address public constant assetRouter = L2_ASSET_ROUTER;
    /// @notice The same under its older name.
    address public constant sharedBridge = L2_ASSET_ROUTER;
    /// @notice The contract that keeps the messages of chains that settle here.
    address public constant messageRoot = L2_MESSAGE_ROOT;

    /// @notice The id of the chain that this one settles on.
    function L1_CHAIN_ID() external view returns (uint256) {
        return IL2NativeTokenVault(L2_NATIVE_TOKEN_VAULT).L1_CHAIN_ID();
    }

    /// @notice The asset that gas is paid in, of this chain alone.
    function baseTokenAssetId(uint256 chainId) external view returns (bytes32) {
        if (chainId != block.chainid) return bytes32(0);
        return IL2NativeTokenVault(L2_NATIVE_TOKEN_VAULT).BASE_TOKEN_ASSET_ID();
    }
}
