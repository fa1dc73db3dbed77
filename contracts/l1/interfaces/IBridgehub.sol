// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2Log, L2Message, TxStatus} from "../../shared/Messaging.sol";

/// @notice A request for an L2 transaction whose sender is the caller.
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

/// @notice A request for an L2 transaction whose sender and call data are a bridge's.
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

/// @notice What a bridge returns: the L2 transaction, and its own hash of the deposit.
struct L2TransactionRequestTwoBridgesInner {
    bytes32 magicValue;
    address l2Contract;
    bytes l2Calldata;
    bytes[] factoryDeps;
    bytes32 txDataHash;
}

/// @notice The registry of all chains: their contracts, requests to them, and proofs of their messages.
interface IBridgehub {
    /// @notice A chain was registered.
    event NewChain(
        uint256 indexed chainId,
        address chainTypeManager,
        address indexed chainGovernance
    );
    /// @notice A chain was allowed or forbidden as a settlement layer in proofs.
    event SettlementLayerRegistered(uint256 indexed chainId, bool indexed isWhitelisted);

    /// @notice The id of the chain of this contract.
    function L1_CHAIN_ID() external view returns (uint256);

    /// @notice The asset router: the bridge of tokens and ether.
    function assetRouter() external view returns (address);

    /// @notice The asset router, under its former name.
    function sharedBridge() external view returns (address);

    /// @notice The contract that gathers the roots of all chains.
    function messageRoot() external view returns (address);

    /// @notice The contract that tells chains of each other.
    function chainRegistrationSender() external view returns (address);

    /// @notice The contract of a chain, or zero.
    function getZKChain(uint256 chainId) external view returns (address);

    /// @notice The contract of a chain, or zero, under its former name.
    function getHyperchain(uint256 chainId) external view returns (address);

    /// @notice The ids of all chains, in the order of registration.
    function getAllZKChainChainIDs() external view returns (uint256[] memory);

    /// @notice The chain type manager of a chain.
    function chainTypeManager(uint256 chainId) external view returns (address);

    /// @notice The L1 address of a chain's base token; 1 is ether.
    function baseToken(uint256 chainId) external view returns (address);

    /// @notice The asset id of a chain's base token.
    function baseTokenAssetId(uint256 chainId) external view returns (bytes32);

    /// @notice Whether a chain is allowed as a settlement layer in proofs.
    function whitelistedSettlementLayers(uint256 chainId) external view returns (bool);

    /// @notice The fee of a request, in the base token.
    /// @param gasPrice The gas price that the request's transaction on L1 will pay.
    function l2TransactionBaseCost(
        uint256 chainId,
        uint256 gasPrice,
        uint256 l2GasLimit,
        uint256 l2GasPerPubdataByteLimit
    ) external view returns (uint256);

    /// @notice Request an L2 transaction whose sender is the caller.
    /// @return canonicalTxHash The transaction's hash on L2.
    function requestL2TransactionDirect(
        L2TransactionRequestDirect calldata request
    ) external payable returns (bytes32 canonicalTxHash);

    /// @notice Request an L2 transaction whose sender is a bridge, such as a deposit of tokens.
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

    /// @notice Whether a log is in an executed batch.
    function proveL2LogInclusion(
        uint256 chainId,
        uint256 batchNumber,
        uint256 index,
        L2Log calldata log,
        bytes32[] calldata proof
    ) external view returns (bool);

    /// @notice Whether a priority transaction has this status in an executed batch.
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
