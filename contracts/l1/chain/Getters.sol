// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {IBridgehub} from "../interfaces/IBridgehub.sol";
import {FeeParams, PubdataPricingMode, ZKChainBase} from "./ZKChainBase.sol";

/// @notice Hashes of verification keys.
struct VerifierParams {
    bytes32 recursionNodeLevelVkHash;
    bytes32 recursionLeafLevelVkHash;
    bytes32 recursionCircuitsSetVksHash;
}

/// @notice View functions of a chain's contract.
/// @dev The L2 is an EVM without a bootloader, a default account and an emulator, so their hashes are zero, as in the
/// node's API.
abstract contract Getters is ZKChainBase {
    address internal immutable BRIDGEHUB;
    address internal immutable CHAIN_TYPE_MANAGER;
    uint256 internal immutable PROTOCOL_VERSION;

    constructor(address bridgehub, address chainTypeManager, uint256 protocolVersion) {
        BRIDGEHUB = bridgehub;
        CHAIN_TYPE_MANAGER = chainTypeManager;
        PROTOCOL_VERSION = protocolVersion;
    }

    // --- The chain ---

    /// @notice The chain's id.
    function getChainId() external view returns (uint256) {
        return _chainId;
    }

    /// @notice The bridgehub.
    function getBridgehub() external view returns (address) {
        return BRIDGEHUB;
    }

    /// @notice The chain type manager of this chain.
    function getChainTypeManager() external view returns (address) {
        return CHAIN_TYPE_MANAGER;
    }

    /// @notice The verifier of validity proofs.
    function getVerifier() external view returns (address) {
        return _verifier;
    }

    /// @notice The admin of the chain.
    function getAdmin() external view returns (address) {
        return _admin;
    }

    /// @notice The account that may accept the role of the admin.
    function getPendingAdmin() external view returns (address) {
        return _pendingAdmin;
    }

    /// @notice Whether an account may settle batches.
    function isValidator(address account) external view returns (bool) {
        return _isValidator[account];
    }

    /// @notice The L1 address of the base token.
    function getBaseToken() external view returns (address) {
        return IBridgehub(BRIDGEHUB).baseToken(_chainId);
    }

    /// @notice The asset id of the base token.
    function getBaseTokenAssetId() external view returns (bytes32) {
        return _baseTokenAssetId;
    }

    /// @notice The packed protocol version: the minor version above 32 bits of the patch version.
    function getProtocolVersion() external view returns (uint256) {
        return PROTOCOL_VERSION;
    }

    /// @notice Major, minor and patch version of the protocol.
    function getSemverProtocolVersion() external view returns (uint32, uint32, uint32) {
        return (
            uint32(PROTOCOL_VERSION >> 64),
            uint32(PROTOCOL_VERSION >> 32),
            uint32(PROTOCOL_VERSION)
        );
    }

    /// @notice Zero: the chain settles on this L1.
    function getSettlementLayer() external pure returns (address) {
        return address(0);
    }

    /// @notice The data availability validator, which is this contract, and the scheme.
    function getDAValidatorPair() external view returns (address, uint8) {
        return (address(this), _daCommitmentScheme);
    }

    /// @notice Whether the operator may edit the state of the L2 and act for accounts without their signature.
    function isDevelopment() external view returns (bool) {
        return !_isProduction;
    }

    /// @notice How many seconds old the first block of a batch may be at its commit, and how many ahead the last one.
    function getClockLimits() external view returns (uint64 maxBatchAge, uint64 maxClockLead) {
        return (_maxBatchAge, _maxClockLead);
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

    /// @notice The root of an executed batch's message tree, or zero.
    function l2LogsRootHash(uint256 batchNumber) external view returns (bytes32) {
        return _l2LogsRootHashes[batchNumber];
    }

    // --- Priority transactions ---

    /// @notice The number of all priority requests.
    function getTotalPriorityTxs() external view returns (uint256) {
        return _priorityTree.size;
    }

    /// @notice The id of the first request that is in no executed batch.
    function getFirstUnprocessedPriorityTx() external view returns (uint256) {
        return _priorityTree.processed;
    }

    /// @notice The number of requests that are in no executed batch.
    function getPriorityQueueSize() external view returns (uint256) {
        return _priorityTree.size - _priorityTree.processed;
    }

    /// @notice The id of the request at the first leaf of the priority tree.
    function getPriorityTreeStartIndex() external pure returns (uint256) {
        return 0;
    }

    /// @notice The root of the priority tree.
    function getPriorityTreeRoot() external view returns (bytes32) {
        return _priorityTree.root;
    }

    /// @notice Whether the priority tree has, or had, a root when it had so many levels above its leaves.
    /// @dev A node compares deposits with it before it includes them; the state of the latest block is enough.
    function isPriorityTreeRoot(bytes32 root, uint256 height) external view returns (bool) {
        return _priorityTree.heightPlusOne[root] == height + 1;
    }

    /// @notice False: requests are in a tree, not in a queue.
    function isPriorityQueueActive() external pure returns (bool) {
        return false;
    }

    /// @notice The maximum gas limit of a request.
    function getPriorityTxMaxGasLimit() external view returns (uint256) {
        return _priorityTxMaxGasLimit;
    }

    // --- Fees ---

    /// @notice The fee parameters of requests.
    function getFeeParams() external view returns (FeeParams memory) {
        return _feeParams;
    }

    /// @notice Whether users pay for pubdata.
    function getPubdataPricingMode() external view returns (PubdataPricingMode) {
        return _feeParams.pubdataPricingMode;
    }

    /// @notice The price of one ether in the base token: the numerator.
    function baseTokenGasPriceMultiplierNominator() external view returns (uint128) {
        return _multiplierNominator;
    }

    /// @notice The price of one ether in the base token: the denominator.
    function baseTokenGasPriceMultiplierDenominator() external view returns (uint128) {
        return _multiplierDenominator;
    }

    // --- What the ZK Stack has and this chain has not ---

    /// @notice False: the contract cannot be frozen.
    function isDiamondStorageFrozen() external pure returns (bool) {
        return false;
    }

    /// @notice Zeros: the verifier has no keys.
    function getVerifierParams() external pure returns (VerifierParams memory params) {}

    /// @notice Zero: there is no bootloader.
    function getL2BootloaderBytecodeHash() external pure returns (bytes32) {
        return bytes32(0);
    }

    /// @notice Zero: there is no default account.
    function getL2DefaultAccountBytecodeHash() external pure returns (bytes32) {
        return bytes32(0);
    }

    /// @notice Zero: the EVM is not emulated.
    function getL2EvmEmulatorBytecodeHash() external pure returns (bytes32) {
        return bytes32(0);
    }

    /// @notice Zero: no upgrade is pending.
    function getL2SystemContractsUpgradeTxHash() external pure returns (bytes32) {
        return bytes32(0);
    }
}
