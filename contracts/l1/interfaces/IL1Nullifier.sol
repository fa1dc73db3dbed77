// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {FinalizeL1DepositParams} from "../../shared/Messaging.sol";

/// @notice A deposit that failed on L2, with the proof of that.
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

/// @notice Records finalized withdrawals and refundable deposits, so that nothing is paid twice.
interface IL1Nullifier {
    /// @notice The L2 transaction of a deposit was requested.
    event BridgehubDepositFinalized(
        uint256 indexed chainId,
        bytes32 indexed txDataHash,
        bytes32 indexed l2DepositTxHash
    );

    /// @notice Whether a withdrawal was finalized.
    function isWithdrawalFinalized(
        uint256 chainId,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex
    ) external view returns (bool);

    /// @notice Finalize a withdrawal whose message is proven.
    function finalizeDeposit(FinalizeL1DepositParams calldata params) external;

    /// @notice Record a deposit's L2 transaction, so that it can be refunded. Only the asset router.
    function bridgehubConfirmL2TransactionForwarded(
        uint256 chainId,
        bytes32 txDataHash,
        bytes32 txHash
    ) external;

    /// @notice Refund a deposit that is proven to have failed on L2.
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

    /// @notice Refund a deposit that is proven to have failed on L2, by its token and amount.
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
