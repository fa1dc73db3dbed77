// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice A transaction as accounts and paymasters are given it; addresses are numbers.
struct Transaction {
    uint256 txType;
    uint256 from;
    uint256 to;
    uint256 gasLimit;
    uint256 gasPerPubdataByteLimit;
    uint256 maxFeePerGas;
    uint256 maxPriorityFeePerGas;
    uint256 paymaster;
    uint256 nonce;
    uint256 value;
    uint256[4] reserved;
    bytes data;
    bytes signature;
    bytes32[] factoryDeps;
    bytes paymasterInput;
    bytes reservedDynamic;
}

/// @notice A contract that sends transactions of type 0x71. Only the bootloader may call the first four functions.
interface IAccount {
    /// @notice Judge the signature, and use the nonce.
    /// @return magic The selector of this function if the account agrees.
    function validateTransaction(
        bytes32 txHash,
        bytes32 suggestedSignedHash,
        Transaction calldata transaction
    ) external payable returns (bytes4 magic);

    /// @notice Send the fee to the bootloader.
    function payForTransaction(
        bytes32 txHash,
        bytes32 suggestedSignedHash,
        Transaction calldata transaction
    ) external payable;

    /// @notice Do what the paymaster needs, such as an approval.
    function prepareForPaymaster(
        bytes32 txHash,
        bytes32 suggestedSignedHash,
        Transaction calldata transaction
    ) external payable;

    /// @notice Do what the transaction is for.
    function executeTransaction(
        bytes32 txHash,
        bytes32 suggestedSignedHash,
        Transaction calldata transaction
    ) external payable;

    /// @notice Validate and execute for anybody; the node never calls it.
    function executeTransactionFromOutside(Transaction calldata transaction) external payable;
}
