// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice The sender of the L2-to-L1 logs with the status of priority transactions.
/// @dev The node itself writes the logs. There is nothing to call, and the contract accepts no ether.
contract Bootloader {
    error NothingToCall();

    /// @notice Revert on every call.
    fallback() external {
        revert NothingToCall();
    }
}
