// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {InteropRoot} from "../../shared/Interop.sol";
import {
    CommitBatchInfo,
    IExecutor,
    PriorityOpsBatchInfo,
    StoredBatchInfo
} from "../interfaces/IExecutor.sol";
import {IBridgehub} from "../interfaces/IBridgehub.sol";
import {IMessageRoot} from "../interfaces/IMessageRoot.sol";
import {IVerifier} from "../interfaces/IVerifier.sol";
import {BatchEncoding} from "../libraries/BatchEncoding.sol";
import {BatchTimes} from "../libraries/BatchTimes.sol";
import {DataAvailability} from "../libraries/DataAvailability.sol";
import {PriorityTree} from "../libraries/PriorityTree.sol";
import {FacetBase} from "./FacetBase.sol";

/// @notice Settles batches, and checks everything about them that the proof does not cover.
contract ExecutorFacet is FacetBase, IExecutor {
    using BatchEncoding for StoredBatchInfo;
    using BatchEncoding for CommitBatchInfo;
    using BatchTimes for BatchTimes.Times;
    using PriorityTree for PriorityTree.Tree;

    /// @dev The Bridgehub of all chains that run this code.
    address private immutable _BRIDGEHUB;

    error WrongChainAddress(address chainAddress);
    error CanOnlyProcessOneBatch();
    error EmptyBatchRange();
    error BatchRangeMismatch(uint256 from, uint256 to, uint256 first, uint256 count);
    error BatchNumberMismatch(uint256 expected, uint256 provided);
    error BatchHashMismatch(bytes32 expected, bytes32 actual);
    error IncorrectBatchChainId(uint256 provided, uint256 expected);
    error InvalidBlockRange(uint64 batchNumber, uint64 from, uint64 to);
    error InvalidTimestampRange(uint64 first, uint64 last);
    error TimestampBeforeLastBatch(uint64 timestamp, uint64 last);
    error TimestampTooOld(uint64 timestamp, uint256 oldest);
    error L2TimestampTooBig(uint64 timestamp, uint256 latest);
    error MismatchDACommitmentScheme(uint8 provided, uint8 expected);
    error EmptyLogsTreeRoot();
    error VerifiedBatchesExceedsCommittedBatches();
    error InvalidProof();
    error CantExecuteUnprovenBatches();
    error InvalidBatchesDataLength(uint256 batches, uint256 priorityOps, uint256 roots);
    error NumberOfLayer1TxsMismatch(uint256 expected, uint256 provided);
    error PriorityOperationsRollingHashMismatch(bytes32 expected, bytes32 actual);
    error DependencyRootsRollingHashMismatch(bytes32 expected, bytes32 actual);
    error CantRevertExecutedBatch();
    error RevertedBatchNotAfterNewLastBatch();

    constructor(address bridgehub) {
        _BRIDGEHUB = bridgehub;
    }

    modifier onlyHere(address chainAddress) {
        if (chainAddress != address(this)) revert WrongChainAddress(chainAddress);
        _;
    }

    /// @inheritdoc IExecutor
    function commitBatchesSharedBridge(
        address chainAddress,
        uint256 processFrom,
        uint256 processTo,
        bytes calldata batchData
    ) external onlyThroughChain onlyValidator nonReentrant onlyHere(chainAddress) {
        (StoredBatchInfo memory last, CommitBatchInfo[] memory batches) = BatchEncoding
            .decodeCommit(batchData);
        if (batches.length != 1) revert CanOnlyProcessOneBatch();
        CommitBatchInfo memory batch = batches[0];
        _checkRange(processFrom, processTo, _committed + 1, 1);
        _checkStored(_committed, last);
        _checkCommit(batch);
        _followTimes(batch);
        _publish(batch);

        bytes32 commitment = batch.commitment();
        uint256 number = batch.batchNumber;
        _storedBatchHashes[number] = StoredBatchInfo({
            batchNumber: batch.batchNumber,
            batchHash: batch.newStateCommitment,
            indexRepeatedStorageChanges: 0,
            numberOfLayer1Txs: batch.numberOfLayer1Txs,
            priorityOperationsHash: batch.priorityOperationsHash,
            dependencyRootsRollingHash: batch.dependencyRootsRollingHash,
            l2LogsTreeRoot: batch.l2LogsTreeRoot,
            timestamp: 0,
            commitment: commitment
        }).hash();
        _committed = number;

        emit ReportCommittedBatchRangeZKsyncOS(
            batch.batchNumber,
            batch.firstBlockNumber,
            batch.lastBlockNumber
        );
        emit BlockCommit(number, batch.newStateCommitment, commitment);
    }

    /// @inheritdoc IExecutor
    function proveBatchesSharedBridge(
        address chainAddress,
        uint256 processFrom,
        uint256 processTo,
        bytes calldata proofData
    ) external onlyThroughChain onlyValidator nonReentrant onlyHere(chainAddress) {
        (
            StoredBatchInfo memory last,
            StoredBatchInfo[] memory batches,
            uint256[] memory proof
        ) = BatchEncoding.decodeProve(proofData);
        uint256 before = _verified;
        _checkRange(processFrom, processTo, before + 1, batches.length);
        if (processTo > _committed) revert VerifiedBatchesExceedsCommittedBatches();
        _checkStored(before, last);

        uint256[] memory publicInputs = new uint256[](batches.length);
        bytes32 state = last.batchHash;
        for (uint256 i = 0; i < batches.length; ++i) {
            StoredBatchInfo memory batch = batches[i];
            _checkStored(before + 1 + i, batch);
            bytes memory claim = abi.encodePacked(state, batch.batchHash, batch.commitment);
            publicInputs[i] = uint256(keccak256(claim)) >> 32;
            state = batch.batchHash;
        }
        if (!IVerifier(_verifier).verify(publicInputs, proof)) revert InvalidProof();
        _verified = processTo;
        emit BlocksVerification(before, processTo);
    }

    /// @inheritdoc IExecutor
    function executeBatchesSharedBridge(
        address chainAddress,
        uint256 processFrom,
        uint256 processTo,
        bytes calldata executeData
    ) external onlyThroughChain onlyValidator nonReentrant onlyHere(chainAddress) {
        (
            StoredBatchInfo[] memory batches,
            PriorityOpsBatchInfo[] memory ops,
            InteropRoot[][] memory roots
        ) = BatchEncoding.decodeExecute(executeData);
        if (batches.length != ops.length || batches.length != roots.length) {
            revert InvalidBatchesDataLength(batches.length, ops.length, roots.length);
        }
        _checkRange(processFrom, processTo, _executed + 1, batches.length);
        if (processTo > _verified) revert CantExecuteUnprovenBatches();
        for (uint256 i = 0; i < batches.length; ++i) {
            _execute(processFrom + i, batches[i], ops[i], roots[i]);
        }
        _executed = processTo;
    }

    /// @inheritdoc IExecutor
    function revertBatchesSharedBridge(
        address chainAddress,
        uint256 newLastBatch
    ) external onlyThroughChain onlyValidator nonReentrant onlyHere(chainAddress) {
        if (newLastBatch >= _committed) revert RevertedBatchNotAfterNewLastBatch();
        if (newLastBatch < _executed) revert CantRevertExecutedBatch();
        _committed = newLastBatch;
        if (_verified > newLastBatch) _verified = newLastBatch;
        emit BlocksRevert(_committed, _verified, _executed);
    }

    /// @inheritdoc IExecutor
    function getLastBlockTimestamp(
        uint256 batchNumber
    ) external view onlyThroughChain returns (uint64) {
        return batchNumber > _committed ? 0 : _lastBlockTimes.get(batchNumber);
    }

    function _execute(
        uint256 number,
        StoredBatchInfo memory batch,
        PriorityOpsBatchInfo memory ops,
        InteropRoot[] memory roots
    ) private {
        _checkStored(number, batch);
        _checkRoots(batch, roots);
        if (ops.itemHashes.length != batch.numberOfLayer1Txs) {
            revert NumberOfLayer1TxsMismatch(batch.numberOfLayer1Txs, ops.itemHashes.length);
        }
        bytes32 rollingHash = _priorityTree.process(ops);
        if (rollingHash != batch.priorityOperationsHash) {
            revert PriorityOperationsRollingHashMismatch(batch.priorityOperationsHash, rollingHash);
        }
        _l2LogsRootHashes[number] = batch.l2LogsTreeRoot;
        emit BlockExecution(number, batch.batchHash, batch.commitment);
    }

    /// @dev It binds what the operator declares; that the L2 has these roots is part of what the proof shows.
    function _checkRoots(StoredBatchInfo memory batch, InteropRoot[] memory roots) private view {
        bytes32 rollingHash = bytes32(0);
        if (roots.length != 0) {
            address messageRoot = IBridgehub(_BRIDGEHUB).messageRoot();
            rollingHash = IMessageRoot(messageRoot).checkRoots(roots);
        }
        if (rollingHash != batch.dependencyRootsRollingHash) {
            revert DependencyRootsRollingHashMismatch(
                batch.dependencyRootsRollingHash,
                rollingHash
            );
        }
    }

    function _checkCommit(CommitBatchInfo memory batch) private view {
        if (batch.batchNumber != _committed + 1) {
            revert BatchNumberMismatch(_committed + 1, batch.batchNumber);
        }
        if (batch.chainId != _chainId) revert IncorrectBatchChainId(batch.chainId, _chainId);
        if (batch.firstBlockNumber > batch.lastBlockNumber) {
            revert InvalidBlockRange(
                batch.batchNumber,
                batch.firstBlockNumber,
                batch.lastBlockNumber
            );
        }
        if (batch.firstBlockTimestamp > batch.lastBlockTimestamp) {
            revert InvalidTimestampRange(batch.firstBlockTimestamp, batch.lastBlockTimestamp);
        }
        if (uint256(batch.firstBlockTimestamp) + _maxBatchAge < block.timestamp) {
            revert TimestampTooOld(batch.firstBlockTimestamp, block.timestamp - _maxBatchAge);
        }
        if (batch.lastBlockTimestamp > block.timestamp + _maxClockLead) {
            revert L2TimestampTooBig(batch.lastBlockTimestamp, block.timestamp + _maxClockLead);
        }
        if (batch.l2LogsTreeRoot == bytes32(0)) revert EmptyLogsTreeRoot();
        if (batch.daCommitmentScheme != _daCommitmentScheme) {
            revert MismatchDACommitmentScheme(batch.daCommitmentScheme, _daCommitmentScheme);
        }
    }

    /// @dev Developers move the clock of an L2 as they like.
    function _followTimes(CommitBatchInfo memory batch) private {
        if (!_isProduction) return;
        uint64 last = _lastBlockTimes.get(batch.batchNumber - 1);
        if (batch.firstBlockTimestamp < last) {
            revert TimestampBeforeLastBatch(batch.firstBlockTimestamp, last);
        }
        _lastBlockTimes.set(batch.batchNumber, batch.lastBlockTimestamp);
    }

    function _publish(CommitBatchInfo memory batch) private {
        bytes memory data = DataAvailability.check(
            _daCommitmentScheme,
            batch.daCommitment,
            batch.operatorDAInput
        );
        if (_daCommitmentScheme == DataAvailability.CALLDATA) {
            emit BatchData(batch.batchNumber, data);
        }
    }

    function _checkRange(uint256 from, uint256 to, uint256 first, uint256 count) private pure {
        if (count == 0) revert EmptyBatchRange();
        if (from != first || to != first + count - 1) {
            revert BatchRangeMismatch(from, to, first, count);
        }
    }

    function _checkStored(uint256 number, StoredBatchInfo memory batch) private view {
        if (batch.batchNumber != number) revert BatchNumberMismatch(number, batch.batchNumber);
        bytes32 hash = batch.hash();
        if (_storedBatchHashes[number] != hash) {
            revert BatchHashMismatch(_storedBatchHashes[number], hash);
        }
    }
}
