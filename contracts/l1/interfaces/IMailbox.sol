// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2CanonicalTransaction, L2Log, L2Message, TxStatus} from "../../shared/Messaging.sol";

/// @notice A request as the bridgehub forwards it to the chain's contract, after it collected its value.
struct BridgehubL2TransactionRequest {
    address sender;
    address contractL2;
    uint256 mintValue;
    uint256 l2Value;
    bytes l2Calldata;
    uint256 l2GasLimit;
    uint256 l2GasPerPubdataByteLimit;
    bytes[] factoryDeps;
    address refundRecipient;
}

/// @notice The mailbox: the part of a chain's contract for messages between L1 and L2.
interface IMailbox {
    /// @notice A priority transaction was requested. Clients read its hash from this event.
    event NewPriorityRequest(
        uint256 txId,
        bytes32 txHash,
        uint64 expirationTimestamp,
        L2CanonicalTransaction transaction,
        bytes[] factoryDeps
    );
    /// @notice A priority transaction was requested; indexed for log filters.
    event NewPriorityRequestId(uint256 indexed txId, bytes32 indexed txHash);

    /// @notice Accept a request. Only the bridgehub.
    function bridgehubRequestL2Transaction(
        BridgehubL2TransactionRequest calldata request
    ) external returns (bytes32 canonicalTxHash);

    /// @notice Request an L2 transaction whose sender is the caller, for clients that do not know the bridgehub.
    /// The value of the call is what it may cost. Only if the base token is ether.
    /// @return canonicalTxHash The transaction's hash on L2.
    function requestL2Transaction(
        address contractL2,
        uint256 l2Value,
        bytes calldata l2Calldata,
        uint256 l2GasLimit,
        uint256 l2GasPerPubdataByteLimit,
        bytes[] calldata factoryDeps,
        address refundRecipient
    ) external payable returns (bytes32 canonicalTxHash);

    /// @notice Request a transaction that nobody pays for; only the contract that tells chains of each other.
    function requestL2ServiceTransaction(
        address contractL2,
        bytes calldata l2Calldata
    ) external returns (bytes32 canonicalTxHash);

    /// @notice Finalize a withdrawal, for clients that do not know the nullifier. Only if the base token is ether.
    function finalizeEthWithdrawal(
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes calldata message,
        bytes32[] calldata merkleProof
    ) external;

    /// @notice Whether a withdrawal was finalized.
    function isEthWithdrawalFinalized(
        uint256 l2BatchNumber,
        uint256 l2MessageIndex
    ) external view returns (bool);

    /// @notice The fee of a request, in the base token.
    function l2TransactionBaseCost(
        uint256 gasPrice,
        uint256 l2GasLimit,
        uint256 l2GasPerPubdataByteLimit
    ) external view returns (uint256);

    /// @notice Whether a message was sent in an executed batch.
    function proveL2MessageInclusion(
        uint256 batchNumber,
        uint256 index,
        L2Message calldata message,
        bytes32[] calldata proof
    ) external view returns (bool);

    /// @notice Whether a log is in an executed batch.
    function proveL2LogInclusion(
        uint256 batchNumber,
        uint256 index,
        L2Log calldata log,
        bytes32[] calldata proof
    ) external view returns (bool);

    /// @notice Whether a priority transaction has this status in an executed batch.
    /// @dev False means that the proof is wrong, not that the transaction has the other status.
    function proveL1ToL2TransactionStatus(
        bytes32 l2TxHash,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes32[] calldata merkleProof,
        TxStatus status
    ) external view returns (bool);

    /// @notice Whether a hash is a leaf of an executed batch's message tree.
    /// @dev The caller must ensure that it is a leaf, not an inner node.
    function proveL2LeafInclusion(
        uint256 batchNumber,
        uint256 leafProofMask,
        bytes32 leaf,
        bytes32[] calldata proof
    ) external view returns (bool);
}
