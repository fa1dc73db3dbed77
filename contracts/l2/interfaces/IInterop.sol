// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {InteropCallStarter} from "../../shared/Interop.sol";
import {L2Message} from "../../shared/Messaging.sol";

/// @notice The roots that this chain has imported.
interface IInteropRoots {
    /// @notice The root of a block of L1; zero if it was not imported.
    function interopRoots(uint256 chainId, uint256 blockNumber) external view returns (bytes32);
}

/// @notice Proofs of messages of other chains.
interface IMessageVerification {
    /// @notice Whether `message` was sent by a chain.
    function proveL2MessageInclusionShared(
        uint256 chainId,
        uint256 batchNumber,
        uint256 index,
        L2Message calldata message,
        bytes32[] calldata proof
    ) external view returns (bool);
}

/// @notice The balance that native value of bundles comes from.
interface IBaseTokenHolder {
    /// @notice Give the handler what has arrived with a bundle.
    function give(uint256 amount) external;
}

/// @notice The chains that this one knows.
interface IInteropChains {
    /// @notice The asset id of a chain's base token; zero if the chain is not registered here.
    function baseTokenAssetId(uint256 chainId) external view returns (bytes32);

    /// @notice The contract on L1 that tells this chain of others, and what a call to them costs.
    function chainRegistrationSender() external view returns (address);

    /// @notice The chain id of the settlement layer.
    function L1_CHAIN_ID() external view returns (uint256);
}

/// @notice A contract that makes the call of a bundle itself, as the router does for an asset.
interface IL2CrossChainInitiator {
    /// @notice Collect what is sent, and return the call of the destination.
    /// @param value The native value of that call.
    function initiateIndirectCall(
        uint256 chainId,
        address originalCaller,
        uint256 value,
        bytes calldata data
    ) external payable returns (InteropCallStarter memory);
}

/// @notice The router's part in calls with value to chains with another base token.
interface IInteropRouter is IL2CrossChainInitiator {
    /// @notice Burn a destination's base token, which is a bridged one here.
    function burnBaseTokenOf(uint256 chainId, address from, uint256 amount) external;
}

/// @notice A contract that takes messages of other chains (ERC-7786).
interface IERC7786Recipient {
    /// @notice Take a message, and return this function's selector.
    /// @param sender The sender and its chain, as ERC-7930 has them.
    function receiveMessage(
        bytes32 receiveId,
        bytes calldata sender,
        bytes calldata payload
    ) external payable returns (bytes4);
}
