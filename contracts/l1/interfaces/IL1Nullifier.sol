// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {FinalizeL1DepositParams} from "../../shared/Messaging.sol";

/// @notice A deposit that is said to have failed on L2, with the proof.
struct FailedDeposit {
    uint256 chainId;
    address depositSender;
    bytes32 assetId;
    bytes assetData;
    bytes32 l2TxHash;
    uint256 l2BatchNumber;
    uint256 l2MessageIndex;
    uint16 l2TxNumberInBatch;
    bytes32[] merkleProof;
}

/// @notice Remembers which withdrawals were paid and which deposits may be claimed back, so that
/// nothing is paid twice.
interface IL1Nullifier {
    /// @notice The L2 will run the transaction of a deposit.
    event BridgehubDepositFinalized(
        uint256 indexed chainId,
        bytes32 indexed txDataHash,
        bytes32 indexed l2DepositTxHash
    );

    /// @notice Whether a withdrawal was paid out.
    function isWithdrawalFinalized(
        uint256 chainId,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex
    ) external view returns (bool);

    /// @notice Pay out a withdrawal, whose message is proven to have been sent.
    function finalizeDeposit(FinalizeL1DepositParams calldata params) external;

    /// @notice Note a deposit's transaction, so that it can be claimed back. Only the asset router may.
    function bridgehubConfirmL2TransactionForwarded(
        uint256 chainId,
        bytes32 txDataHash,
        bytes32 txHash
    ) external;

    /// @notice Pay back a deposit that is proven to have failed on L2.
    function bridgeRecoverFailedTransfer(
        uint256 chainId,
        address depositSender,
        bytes32 assetId,
        bytes calldata assetData,
        bytes32 l2TxHash,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes32[] calldata merkleProof
    ) external;

    /// @notice Pay back a deposit that is proven to have failed on L2, told by its token and amount.
    function claimFailedDeposit(
        uint256 chainId,
        address depositSender,
        address l1Token,
        uint256 amount,
        bytes32 l2TxHash,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes32[] calldata merkleProof
    ) external;
}
