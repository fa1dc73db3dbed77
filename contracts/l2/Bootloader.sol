// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice The caller of accounts and paymasters, and the sender of logs with the status of priority transactions.
/// @dev The node itself makes the calls and writes the logs. The contract accepts ether only while a fee is paid,
/// and the node takes that out again, so nothing can be lost here.
contract Bootloader {
    /// @notice The version of accounts that the node calls. The genesis sets it; without it the node calls none.
    uint256 public supportedAccountVersion;
    /// @notice Whether factory dependencies cost what calldata of their size costs. The genesis sets it, too.
    bool public chargesFactoryDeps;

    error NothingToCall();
    error NoFeeExpected();

    /// @notice Accept a fee.
    receive() external payable {
        _checkPaying();
    }

    /// @notice Revert on every other call.
    fallback() external {
        revert NothingToCall();
    }

    /// @dev The node sets the transient slot while it asks accounts and paymasters to pay.
    function _checkPaying() private view {
        uint256 isPaying;
        assembly ("memory-safe") {
            isPaying := tload(0)
        }
        if (isPaying == 0) revert NoFeeExpected();
    }
}
