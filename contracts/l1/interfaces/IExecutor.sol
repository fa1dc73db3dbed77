// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice A batch as the contract stores it, by the hash of its encoding.
struct StoredBatchInfo {
    uint64 batchNumber;
    bytes32 batchHash;
    uint64 indexRepeatedStorageChanges;
    uint256 numberOfLayer1Txs;
    bytes32 priorityOperationsHash;
    bytes32 dependencyRootsRollingHash;
    bytes32 l2LogsTreeRoot;
    uint256 timestamp;
    bytes32 commitment;
}

/// @notice A batch as its operator commits it.
struct CommitBatchInfo {
    uint64 batchNumber;
    bytes32 newStateCommitment;
    uint256 numberOfLayer1Txs;
    bytes32 priorityOperationsHash;
    bytes32 dependencyRootsRollingHash;
    bytes32 l2LogsTreeRoot;
    uint8 daCommitmentScheme;
    bytes32 daCommitment;
    uint64 firstBlockTimestamp;
    uint64 firstBlockNumber;
    uint64 lastBlockTimestamp;
    uint64 lastBlockNumber;
    uint256 chainId;
    bytes operatorDAInput;
}

/// @notice The priority transactions of a batch, and their range proof in the priority tree.
struct PriorityOpsBatchInfo {
    bytes32[] leftPath;
    bytes32[] rightPath;
    bytes32[] itemHashes;
}

/// @notice The part of a chain's contract that settles batches: committed, proven, executed.
/// @dev The operator calls the timelock, which has the same functions and forwards the calls.
interface IExecutor {
    /// @notice A batch was committed.
    event BlockCommit(
        uint256 indexed batchNumber,
        bytes32 indexed batchHash,
        bytes32 indexed commitment
    );
    /// @notice Batches were proven.
    event BlocksVerification(
        uint256 indexed previousLastVerifiedBatch,
        uint256 indexed currentLastVerifiedBatch
    );
    /// @notice A batch was executed: its messages can be proven from now on.
    event BlockExecution(
        uint256 indexed batchNumber,
        bytes32 indexed batchHash,
        bytes32 indexed commitment
    );
    /// @notice Batches that were not executed were reverted.
    event BlocksRevert(
        uint256 totalBatchesCommitted,
        uint256 totalBatchesVerified,
        uint256 totalBatchesExecuted
    );
    /// @notice The block range of a committed batch.
    event ReportCommittedBatchRangeZKsyncOS(
        uint64 indexed batchNumber,
        uint64 indexed firstBlockNumber,
        uint64 indexed lastBlockNumber
    );
    /// @notice The data of a batch that is being committed, if the chain publishes it.
    /// @dev It comes before the other events of the commit. A commit may be nested in calls of other contracts, so this
    /// is where the data is read, and not in transactions.
    event BatchData(uint256 indexed batchNumber, bytes data);

    /// @notice Commit to the next batch.
    /// @param batchData 0x03 and the encoding of (StoredBatchInfo, CommitBatchInfo[]): the last
    /// committed batch and one that follows.
    function commitBatchesSharedBridge(
        address chainAddress,
        uint256 processFrom,
        uint256 processTo,
        bytes calldata batchData
    ) external;

    /// @notice Prove the next committed batches.
    /// @param proofData 0x01 and the encoding of (StoredBatchInfo, StoredBatchInfo[], uint256[]): the
    /// last proven batch, those that follow, and the proof.
    function proveBatchesSharedBridge(
        address chainAddress,
        uint256 processFrom,
        uint256 processTo,
        bytes calldata proofData
    ) external;

    /// @notice Execute the next proven batches.
    /// @param executeData 0x02 and the encoding of (StoredBatchInfo[], PriorityOpsBatchInfo[], InteropRoot[][]).
    function executeBatchesSharedBridge(
        address chainAddress,
        uint256 processFrom,
        uint256 processTo,
        bytes calldata executeData
    ) external;

    /// @notice Revert the batches after `newLastBatch`, none of which is executed.
    function revertBatchesSharedBridge(address chainAddress, uint256 newLastBatch) external;

    /// @notice The timestamp of the last block of a committed batch; zero for others, for batch 0, and on a development
    /// chain.
    function getLastBlockTimestamp(uint256 batchNumber) external view returns (uint64);
}
