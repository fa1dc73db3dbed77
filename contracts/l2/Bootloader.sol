// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Holds the address under which the node reports to L1 how priority transactions ended.
/// @dev The logs are written by the node itself. There is nothing to call, and no ether to lose here.
contract Bootloader {
    error NothingToCall();

    /// @notice Refuse every call.
    fallback() external {
        revert NothingToCall();
    }
}
