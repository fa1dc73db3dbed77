// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice How a contract becomes an account.
interface IContractDeployer {
    /// @notice Make the caller an account of another version: 1 can send transactions, 0 cannot.
    function updateAccountVersion(uint8 version) external;
}
