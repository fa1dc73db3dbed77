// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {IL1Messenger} from "./interfaces/IL1Messenger.sol";

/// @notice Sends messages to L1.
contract L1Messenger is IL1Messenger {
    /// @inheritdoc IL1Messenger
    function sendToL1(bytes calldata message) external returns (bytes32 hash) {
        hash = keccak256(message);
        emit L1MessageSent(msg.sender, hash, message);
    }
}
