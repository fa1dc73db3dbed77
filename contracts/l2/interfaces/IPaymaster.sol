// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {Transaction} from "./IAccount.sol";

/// @notice How the execution of a transaction went.
enum ExecutionResult {
    Revert,
    Success
}

/// @notice A contract that pays the fees of others. Only the bootloader may call it.
interface IPaymaster {
    /// @notice Agree to a transaction, and send the fee to the bootloader.
    /// @return magic The selector of this function if the paymaster agrees.
    /// @return context Up to 1,024 bytes for `postTransaction`.
    function validateAndPayForPaymasterTransaction(
        bytes32 txHash,
        bytes32 suggestedSignedHash,
        Transaction calldata transaction
    ) external payable returns (bytes4 magic, bytes memory context);

    /// @notice Learn how the transaction went; it is not called if no gas is left.
    function postTransaction(
        bytes calldata context,
        Transaction calldata transaction,
        bytes32 txHash,
        bytes32 suggestedSignedHash,
        ExecutionResult result,
        uint256 maxRefundedGas
    ) external payable;
}

/// @notice What the paymaster input of a transaction encodes; no contract has these functions.
interface IPaymasterFlow {
    /// @notice The paymaster needs nothing of the sender.
    function general(bytes calldata input) external;

    /// @notice The paymaster needs an allowance of the sender.
    function approvalBased(address token, uint256 minAllowance, bytes calldata innerInput) external;
}
