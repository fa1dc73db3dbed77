// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {IAssetRouterBase} from "../../shared/IAssetRouterBase.sol";
import {L2TransactionRequestTwoBridgesInner} from "./IBridgehub.sol";

/// @notice A bridge that can be the second one of a request.
interface IL1CrossChainSender {
    /// @notice Collect a deposit, and return the L2 transaction for it. Only the bridgehub.
    function bridgehubDeposit(
        uint256 chainId,
        address originalCaller,
        uint256 value,
        bytes calldata data
    ) external payable returns (L2TransactionRequestTwoBridgesInner memory request);

    /// @notice Record the hash of the L2 transaction. Only the bridgehub.
    function bridgehubConfirmL2Transaction(
        uint256 chainId,
        bytes32 txDataHash,
        bytes32 txHash
    ) external;
}

/// @notice The asset router: the bridge of tokens and ether, also known as the shared bridge.
interface IL1AssetRouter is IL1CrossChainSender, IAssetRouterBase {
    /// @notice The base token of a request was collected.
    event BridgehubDepositBaseTokenInitiated(
        uint256 indexed chainId,
        address indexed from,
        bytes32 assetId,
        uint256 amount
    );
    /// @notice A deposit was collected.
    event BridgehubDepositInitiated(
        uint256 indexed chainId,
        bytes32 indexed txDataHash,
        address indexed from,
        bytes32 assetId,
        bytes bridgeMintCalldata
    );
    /// @notice A withdrawal was finalized.
    event DepositFinalizedAssetRouter(
        uint256 indexed chainId,
        bytes32 indexed assetId,
        bytes assetData
    );
    /// @notice A deposit that failed on L2 was refunded.
    event ClaimedFailedDepositAssetRouter(
        uint256 indexed chainId,
        bytes32 indexed assetId,
        bytes assetData
    );

    /// @notice The bridgehub.
    function BRIDGE_HUB() external view returns (address);

    /// @notice Collect the base token of a request. Only the bridgehub, or the contract of a chain that is paid in ether.
    function bridgehubDepositBaseToken(
        uint256 chainId,
        bytes32 assetId,
        address originalCaller,
        uint256 amount
    ) external payable;

    /// @notice Finalize a withdrawal for older clients, which do not pass the sender of the message.
    function finalizeWithdrawal(
        uint256 chainId,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes calldata message,
        bytes32[] calldata merkleProof
    ) external;

    /// @notice Whether a withdrawal was finalized.
    function isWithdrawalFinalized(
        uint256 chainId,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex
    ) external view returns (bool);

    /// @notice Refund a deposit. Only the nullifier, which has checked the proof.
    function bridgeRecoverFailedTransfer(
        uint256 chainId,
        address depositSender,
        bytes32 assetId,
        bytes calldata assetData
    ) external;

    /// @notice Transfer a depositor's tokens to the vault by an allowance for this contract. Only the vault.
    /// @return Whether there was such an allowance.
    function transferFundsToNTV(
        bytes32 assetId,
        uint256 amount,
        address originalCaller
    ) external returns (bool);
}
