// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {IAssetRouterBase} from "../../shared/IAssetRouterBase.sol";
import {L2TransactionRequestTwoBridgesInner} from "./IBridgehub.sol";

/// @notice A bridge that can be the second one of a request.
interface IL1CrossChainSender {
    /// @notice Take over what is deposited, and say what the L2 shall do. Only the bridgehub may.
    function bridgehubDeposit(
        uint256 chainId,
        address originalCaller,
        uint256 value,
        bytes calldata data
    ) external payable returns (L2TransactionRequestTwoBridgesInner memory request);

    /// @notice Learn the hash of the transaction on L2. Only the bridgehub may.
    function bridgehubConfirmL2Transaction(
        uint256 chainId,
        bytes32 txDataHash,
        bytes32 txHash
    ) external;
}

/// @notice The bridge of tokens and ether, also known as the shared bridge.
interface IL1AssetRouter is IL1CrossChainSender, IAssetRouterBase {
    /// @notice What pays for a request was taken over.
    event BridgehubDepositBaseTokenInitiated(
        uint256 indexed chainId,
        address indexed from,
        bytes32 assetId,
        uint256 amount
    );
    /// @notice A deposit was taken over.
    event BridgehubDepositInitiated(
        uint256 indexed chainId,
        bytes32 indexed txDataHash,
        address indexed from,
        bytes32 assetId,
        bytes bridgeMintCalldata
    );
    /// @notice A withdrawal was paid out.
    event DepositFinalizedAssetRouter(
        uint256 indexed chainId,
        bytes32 indexed assetId,
        bytes assetData
    );
    /// @notice A deposit that failed on L2 was paid back.
    event ClaimedFailedDepositAssetRouter(
        uint256 indexed chainId,
        bytes32 indexed assetId,
        bytes assetData
    );

    /// @notice Take over what pays for a request. Only the bridgehub may.
    function bridgehubDepositBaseToken(
        uint256 chainId,
        bytes32 assetId,
        address originalCaller,
        uint256 amount
    ) external payable;

    /// @notice Pay back a deposit. Only the nullifier may, which has seen the proof.
    function bridgeRecoverFailedTransfer(
        uint256 chainId,
        address depositSender,
        bytes32 assetId,
        bytes calldata assetData
    ) external;

    /// @notice Move a depositor's tokens to the vault by an allowance for this contract. Only the vault may.
    /// @return Whether there was such an allowance.
    function transferFundsToNTV(
        bytes32 assetId,
        uint256 amount,
        address originalCaller
    ) external returns (bool);
}
