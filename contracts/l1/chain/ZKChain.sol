// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {DataAvailability} from "../libraries/DataAvailability.sol";
import {PriorityTree} from "../libraries/PriorityTree.sol";
import {Admin} from "./Admin.sol";
import {Facets} from "./Facets.sol";
import {Getters} from "./Getters.sol";
import {ChainSettings} from "./ZKChainBase.sol";

/// @notice The contract of one L2: its settings, its state, and the facets that are its mailbox and its executor.
contract ZKChain is Admin, Getters, Facets {
    using PriorityTree for PriorityTree.Tree;

    /// @dev What a chain that is not for development may have at most.
    uint64 private constant MAX_BATCH_AGE = 7 days;
    uint64 private constant MAX_CLOCK_LEAD = 15 minutes;

    error AlreadyInitialized();
    error EmptyGenesisBatchHash();
    error ChainIdTooLarge(uint256 chainId);
    error ClockLimitsTooWide(uint64 maxBatchAge, uint64 maxClockLead);

    constructor(
        ChainSettings memory settings
    )
        Getters(settings.bridgehub, settings.chainTypeManager, settings.protocolVersion)
        Facets(settings.mailboxFacet, settings.executorFacet)
    {
        if (settings.chainId > type(uint64).max) revert ChainIdTooLarge(settings.chainId);
        _checkClockLimits(settings);
        DataAvailability.requireKnown(settings.daCommitmentScheme);
        _chainId = uint64(settings.chainId);
        _isProduction = !settings.isDevelopment;
        _admin = settings.admin;
        _verifier = settings.verifier;
        _isValidator[settings.validatorTimelock] = true;
        _daCommitmentScheme = settings.daCommitmentScheme;
        _maxBatchAge = settings.maxBatchAge;
        _maxClockLead = settings.maxClockLead;
        _priorityTxMaxGasLimit = settings.priorityTxMaxGasLimit;
        _setMultiplier(settings.multiplierNominator, settings.multiplierDenominator);
        _setFeeParams(settings.feeParams);
        _priorityTree.setUp();
    }

    /// @notice Set the base token and the genesis batch. Only the bridgehub, and only once.
    /// @dev Batch 0 is not known at deployment, because the L2's genesis contains L1 addresses; facets may be deployed
    /// later than this contract, but not later than it is registered.
    /// @param genesisBatchHash The hash of the encoding of batch 0 as `StoredBatchInfo`.
    function initialize(bytes32 baseTokenAssetId, bytes32 genesisBatchHash) external {
        if (msg.sender != BRIDGEHUB) revert Unauthorized(msg.sender);
        if (_storedBatchHashes[0] != bytes32(0)) revert AlreadyInitialized();
        if (genesisBatchHash == bytes32(0)) revert EmptyGenesisBatchHash();
        _requireFacets();
        _baseTokenAssetId = baseTokenAssetId;
        _storedBatchHashes[0] = genesisBatchHash;
    }

    function _checkClockLimits(ChainSettings memory settings) private pure {
        if (settings.isDevelopment) return;
        if (settings.maxBatchAge > MAX_BATCH_AGE || settings.maxClockLead > MAX_CLOCK_LEAD) {
            revert ClockLimitsTooWide(settings.maxBatchAge, settings.maxClockLead);
        }
    }
}
