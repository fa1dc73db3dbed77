// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {BatchTimes} from "../libraries/BatchTimes.sol";
import {PriorityTree} from "../libraries/PriorityTree.sol";
import {ReentrancyGuard} from "../ReentrancyGuard.sol";

/// @notice Whether users pay for pubdata.
enum PubdataPricingMode {
    Rollup,
    Validium
}

/// @notice The fee parameters of requests.
struct FeeParams {
    PubdataPricingMode pubdataPricingMode;
    uint32 batchOverheadL1Gas;
    uint32 maxPubdataPerBatch;
    uint32 maxL2GasPerBatch;
    uint32 priorityTxMaxPubdata;
    uint64 minimalL2GasPrice;
}

/// @notice The constructor arguments of a chain's contract.
struct ChainSettings {
    uint256 chainId;
    address bridgehub;
    address chainTypeManager;
    address admin;
    address validatorTimelock;
    address verifier;
    uint256 protocolVersion;
    /// The data availability scheme: 1 is none, 3 is data in the call. 4 is reserved for blobs, and rejected.
    uint8 daCommitmentScheme;
    /// The maximum age of a batch's first block at its commit, in seconds; at most 7 days, unless `isDevelopment`.
    uint64 maxBatchAge;
    /// How many seconds the L2's clock may be ahead of L1's; at most 15 minutes, unless `isDevelopment`.
    uint64 maxClockLead;
    uint64 priorityTxMaxGasLimit;
    FeeParams feeParams;
    address mailboxFacet;
    address executorFacet;
    /// The price of one ether in the base token, as a fraction; 1 and 1 if that is ether.
    uint128 multiplierNominator;
    uint128 multiplierDenominator;
    /// Whether the operator may edit the state of the L2 and act for accounts without their signature.
    bool isDevelopment;
}

/// @notice State and access control that a chain's contract shares with its facets.
/// @dev Facets run on the storage of the chain that calls them, so this is the one place where variables are declared,
/// and new ones go behind the others. Facets serve all chains of an L1, so that nothing of one chain is immutable here.
abstract contract ZKChainBase is ReentrancyGuard {
    address internal _admin;
    address internal _pendingAdmin;
    address internal _verifier;
    bytes32 internal _baseTokenAssetId;
    mapping(address account => bool) internal _isValidator;

    FeeParams internal _feeParams;
    uint256 internal _priorityTxMaxGasLimit;
    uint128 internal _multiplierNominator;
    uint128 internal _multiplierDenominator;
    // What a commit compares shares one slot.
    uint8 internal _daCommitmentScheme;
    uint64 internal _maxBatchAge;
    uint64 internal _maxClockLead;
    uint64 internal _chainId;
    // Set by the constructor alone: whoever checks an L2 relies on it for good. Chains from before have zero here.
    bool internal _isProduction;

    uint256 internal _committed;
    uint256 internal _verified;
    uint256 internal _executed;
    mapping(uint256 batchNumber => bytes32) internal _storedBatchHashes;
    mapping(uint256 batchNumber => bytes32) internal _l2LogsRootHashes;
    PriorityTree.Tree internal _priorityTree;
    // Of the last block of each batch; not recorded on a development chain.
    BatchTimes.Times internal _lastBlockTimes;

    error Unauthorized(address caller);

    modifier onlyAdmin() {
        if (msg.sender != _admin) revert Unauthorized(msg.sender);
        _;
    }

    modifier onlyValidator() {
        if (!_isValidator[msg.sender]) revert Unauthorized(msg.sender);
        _;
    }
}
