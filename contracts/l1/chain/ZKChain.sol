// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {PriorityTree} from "../libraries/PriorityTree.sol";
import {Admin} from "./Admin.sol";
import {DiamondGetters} from "./DiamondGetters.sol";
import {Executor} from "./Executor.sol";
import {Getters} from "./Getters.sol";
import {Mailbox} from "./Mailbox.sol";
import {ChainSettings, ZKChainBase} from "./ZKChainBase.sol";

/// @notice The contract of one L2: its mailbox, its executor and its settings.
contract ZKChain is Mailbox, Executor, Admin, Getters, DiamondGetters {
    using PriorityTree for PriorityTree.Tree;

    error AlreadyInitialized();
    error EmptyGenesisBatchHash();

    constructor(ChainSettings memory settings) ZKChainBase(settings) {
        _admin = settings.admin;
        _verifier = settings.verifier;
        _isValidator[settings.validatorTimelock] = true;
        _daCommitmentScheme = settings.daCommitmentScheme;
        _priorityTxMaxGasLimit = settings.priorityTxMaxGasLimit;
        _multiplierNominator = 1;
        _multiplierDenominator = 1;
        _setFeeParams(settings.feeParams);
        _priorityTree.setUp();
    }

    /// @notice Set the base token and the genesis batch. Only the bridgehub, and only once.
    /// @dev Batch 0 is not known at deployment, because the L2's genesis contains L1 addresses.
    /// @param genesisBatchHash The hash of the encoding of batch 0 as `StoredBatchInfo`.
    function initialize(bytes32 baseTokenAssetId, bytes32 genesisBatchHash) external onlyBridgehub {
        if (_storedBatchHashes[0] != bytes32(0)) revert AlreadyInitialized();
        if (genesisBatchHash == bytes32(0)) revert EmptyGenesisBatchHash();
        _baseTokenAssetId = baseTokenAssetId;
        _storedBatchHashes[0] = genesisBatchHash;
    }
}
