// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {IBridgehub} from "../interfaces/IBridgehub.sol";
import {FeeParams, PubdataPricingMode, ZKChainBase} from "./ZKChainBase.sol";

/// @notice What everybody may know about a chain.
abstract contract Getters is ZKChainBase {
    // --- The chain ---

    /// @notice The chain's id.
    function getChainId() external view returns (uint256) {
        return CHAIN_ID;
    }

    /// @notice The door through which requests come.
    function getBridgehub() external view returns (address) {
        return BRIDGEHUB;
    }

    /// @notice The manager of the kind of chain that this one is.
    function getChainTypeManager() external view returns (address) {
        return CHAIN_TYPE_MANAGER;
    }

    /// @notice Who says whether batches were executed rightly.
    function getVerifier() external view returns (address) {
        return _verifier;
    }

    /// @notice Who decides about the chain.
    function getAdmin() external view returns (address) {
        return _admin;
    }

    /// @notice Who decides next, by accepting.
    function getPendingAdmin() external view returns (address) {
        return _pendingAdmin;
    }

    /// @notice Whether an account may settle batches.
    function isValidator(address account) external view returns (bool) {
        return _isValidator[account];
    }

    /// @notice The token that gas is paid in, as an address of L1.
    function getBaseToken() external view returns (address) {
        return IBridgehub(BRIDGEHUB).baseToken(CHAIN_ID);
    }

    /// @notice The token that gas is paid in, as an asset.
    function getBaseTokenAssetId() external view returns (bytes32) {
        return _baseTokenAssetId;
    }

    /// @notice The version of the protocol, packed: the minor number above 32 bits of the patch number.
    function getProtocolVersion() external view returns (uint256) {
        return PROTOCOL_VERSION;
    }

    /// @notice Major, minor and patch number of the protocol.
    function getSemverProtocolVersion() external view returns (uint32, uint32, uint32) {
        return (
            uint32(PROTOCOL_VERSION >> 64),
            uint32(PROTOCOL_VERSION >> 32),
            uint32(PROTOCOL_VERSION)
        );
    }

    /// @notice Zero: the chain settles here.
    function getSettlementLayer() external pure returns (address) {
        return address(0);
    }

    /// @notice Who checks that data is published, which is this contract, and by which scheme.
    function getDAValidatorPair() external view returns (address, uint8) {
        return (address(this), _daCommitmentScheme);
    }

    // --- Batches ---

    /// @notice The number of the last committed batch.
    function getTotalBatchesCommitted() external view returns (uint256) {
        return _committed;
    }

    /// @notice The number of the last proven batch.
    function getTotalBatchesVerified() external view returns (uint256) {
        return _verified;
    }

    /// @notice The number of the last executed batch.
    function getTotalBatchesExecuted() external view returns (uint256) {
        return _executed;
    }

    /// @notice The hash of a committed batch as `StoredBatchInfo`, or zero.
    function storedBatchHash(uint256 batchNumber) external view returns (bytes32) {
        return batchNumber > _committed ? bytes32(0) : _storedBatchHashes[batchNumber];
    }

    /// @notice The root of what an executed batch sent to L1, or zero.
    function l2LogsRootHash(uint256 batchNumber) external view returns (bytes32) {
        return _l2LogsRootHashes[batchNumber];
    }

    // --- Priority transactions ---

    /// @notice How many requests there ever were.
    function getTotalPriorityTxs() external view returns (uint256) {
        return _priorityTree.size;
    }

    /// @notice The number of the first request that no executed batch has run.
    function getFirstUnprocessedPriorityTx() external view returns (uint256) {
        return _priorityTree.processed;
    }

    /// @notice How many requests no executed batch has run.
    function getPriorityQueueSize() external view returns (uint256) {
        return _priorityTree.size - _priorityTree.processed;
    }

    /// @notice The number of the request that is the first leaf of the tree.
    function getPriorityTreeStartIndex() external pure returns (uint256) {
        return 0;
    }

    /// @notice The root of the tree of all requests.
    function getPriorityTreeRoot() external view returns (bytes32) {
        return _priorityTree.root;
    }

    /// @notice False: requests are kept in a tree, not in a queue.
    function isPriorityQueueActive() external pure returns (bool) {
        return false;
    }

    /// @notice The most gas that a request may ask for.
    function getPriorityTxMaxGasLimit() external view returns (uint256) {
        return _priorityTxMaxGasLimit;
    }

    // --- Fees ---

    /// @notice What a request's price is made from.
    function getFeeParams() external view returns (FeeParams memory) {
        return _feeParams;
    }

    /// @notice Whether users pay for data that goes to L1.
    function getPubdataPricingMode() external view returns (PubdataPricingMode) {
        return _feeParams.pubdataPricingMode;
    }

    /// @notice What one ether costs in the base token: the numerator.
    function baseTokenGasPriceMultiplierNominator() external view returns (uint128) {
        return _multiplierNominator;
    }

    /// @notice What one ether costs in the base token: the denominator.
    function baseTokenGasPriceMultiplierDenominator() external view returns (uint128) {
        return _multiplierDenominator;
    }
}
