// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2Log, L2Message, TxStatus} from "../../shared/Messaging.sol";

/// @notice A request to run a transaction on an L2, from the account that will be its sender.
struct L2TransactionRequestDirect {
    uint256 chainId;
    uint256 mintValue;
    address l2Contract;
    uint256 l2Value;
    bytes l2Calldata;
    uint256 l2GasLimit;
    uint256 l2GasPerPubdataByteLimit;
    bytes[] factoryDeps;
    address refundRecipient;
}

/// @notice A request whose sender on L2 is a bridge, which says what the transaction does.
struct L2TransactionRequestTwoBridgesOuter {
    uint256 chainId;
    uint256 mintValue;
    uint256 l2Value;
    uint256 l2GasLimit;
    uint256 l2GasPerPubdataByteLimit;
    address refundRecipient;
    address secondBridgeAddress;
    uint256 secondBridgeValue;
    bytes secondBridgeCalldata;
}

/// @notice A bridge's answer: the transaction that it wants, and its own name for the deposit.
struct L2TransactionRequestTwoBridgesInner {
    bytes32 magicValue;
    address l2Contract;
    bytes l2Calldata;
    bytes[] factoryDeps;
    bytes32 txDataHash;
}

/// @notice The door to all chains: finds their contracts, takes requests for them, checks what they sent.
interface IBridgehub {
    /// @notice A chain can be deposited to from now on.
    event NewChain(
        uint256 indexed chainId,
        address chainTypeManager,
        address indexed chainGovernance
    );
    /// @notice Whether proofs may lead through a chain changed.
    event SettlementLayerRegistered(uint256 indexed chainId, bool indexed isWhitelisted);

    /// @notice The id of the chain that this contract is on.
    function L1_CHAIN_ID() external view returns (uint256);

    /// @notice The bridge of tokens and ether.
    function assetRouter() external view returns (address);

    /// @notice The bridge of tokens and ether, under its former name.
    function sharedBridge() external view returns (address);

    /// @notice The contract of a chain, or zero.
    function getZKChain(uint256 chainId) external view returns (address);

    /// @notice The contract of a chain, or zero, under its former name.
    function getHyperchain(uint256 chainId) external view returns (address);

    /// @notice The ids of all chains, in the order in which they came.
    function getAllZKChainChainIDs() external view returns (uint256[] memory);

    /// @notice The manager of the kind of chain that a chain is.
    function chainTypeManager(uint256 chainId) external view returns (address);

    /// @notice The token that a chain's gas is paid in, as an address of L1; 1 is ether.
    function baseToken(uint256 chainId) external view returns (address);

    /// @notice The token that a chain's gas is paid in, as an asset.
    function baseTokenAssetId(uint256 chainId) external view returns (bytes32);

    /// @notice Whether a chain may be named in proofs as the one that another settles on.
    function whitelistedSettlementLayers(uint256 chainId) external view returns (bool);

    /// @notice What the gas of a request costs, in the base token.
    /// @param gasPrice The gas price that the request's transaction on L1 will pay.
    function l2TransactionBaseCost(
        uint256 chainId,
        uint256 gasPrice,
        uint256 l2GasLimit,
        uint256 l2GasPerPubdataByteLimit
    ) external view returns (uint256);

    /// @notice Ask for a transaction of the caller's on an L2.
    /// @return canonicalTxHash The transaction's hash on L2.
    function requestL2TransactionDirect(
        L2TransactionRequestDirect calldata request
    ) external payable returns (bytes32 canonicalTxHash);

    /// @notice Ask for a transaction of a bridge on an L2, as deposits of tokens are.
    /// @return canonicalTxHash The transaction's hash on L2.
    function requestL2TransactionTwoBridges(
        L2TransactionRequestTwoBridgesOuter calldata request
    ) external payable returns (bytes32 canonicalTxHash);

    /// @notice Whether a message was sent in an executed batch.
    function proveL2MessageInclusion(
        uint256 chainId,
        uint256 batchNumber,
        uint256 index,
        L2Message calldata message,
        bytes32[] calldata proof
    ) external view returns (bool);

    /// @notice Whether a log was written in an executed batch.
    function proveL2LogInclusion(
        uint256 chainId,
        uint256 batchNumber,
        uint256 index,
        L2Log calldata log,
        bytes32[] calldata proof
    ) external view returns (bool);

    /// @notice Whether a priority transaction ended in this way in an executed batch.
    function proveL1ToL2TransactionStatus(
        uint256 chainId,
        bytes32 l2TxHash,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes32[] calldata merkleProof,
        TxStatus status
    ) external view returns (bool);
}
