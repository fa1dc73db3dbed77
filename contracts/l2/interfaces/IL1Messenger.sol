// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice The messenger from L2 to L1.
interface IL1Messenger {
    /// @notice `sender` sent `message`, whose Keccak-256 is `hash`, to L1.
    /// @dev For each of these events the node adds one leaf to the message tree of the batch.
    event L1MessageSent(address indexed sender, bytes32 indexed hash, bytes message);

    /// @notice Send `message` to L1, where anyone can prove that the caller sent it.
    /// @return hash The Keccak-256 of the message.
    function sendToL1(bytes calldata message) external returns (bytes32 hash);
}
