// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {InteropRoot} from "../../shared/Interop.sol";
import {CommitBatchInfo, PriorityOpsBatchInfo, StoredBatchInfo} from "../interfaces/IExecutor.sol";

/// @notice The call data with which operators settle batches: a version byte, then the arguments.
library BatchEncoding {
    uint8 internal constant COMMIT_VERSION = 3;
    uint8 internal constant PROVE_VERSION = 1;
    uint8 internal constant EXECUTE_VERSION = 2;

    error EmptyData();
    error IncompatibleEncodingVersion(uint8 expected, uint8 provided);

    /// @notice Decode the data of a commit.
    function decodeCommit(
        bytes calldata data
    ) internal pure returns (StoredBatchInfo memory last, CommitBatchInfo[] memory batches) {
        return abi.decode(_argumentsOf(data, COMMIT_VERSION), (StoredBatchInfo, CommitBatchInfo[]));
    }

    /// @notice Decode the data of a proof.
    function decodeProve(
        bytes calldata data
    )
        internal
        pure
        returns (
            StoredBatchInfo memory last,
            StoredBatchInfo[] memory batches,
            uint256[] memory proof
        )
    {
        return
            abi.decode(
                _argumentsOf(data, PROVE_VERSION),
                (StoredBatchInfo, StoredBatchInfo[], uint256[])
            );
    }

    /// @notice Decode the data of an execution.
    function decodeExecute(
        bytes calldata data
    )
        internal
        pure
        returns (
            StoredBatchInfo[] memory batches,
            PriorityOpsBatchInfo[] memory priorityOps,
            InteropRoot[][] memory roots
        )
    {
        return
            abi.decode(
                _argumentsOf(data, EXECUTE_VERSION),
                (StoredBatchInfo[], PriorityOpsBatchInfo[], InteropRoot[][])
            );
    }

    /// @notice The hash that the contract stores for a batch.
    function hash(StoredBatchInfo memory batch) internal pure returns (bytes32) {
        return keccak256(abi.encode(batch));
    }

    /// @notice The commitment of a batch, which is part of its proof's public input.
    function commitment(CommitBatchInfo memory batch) internal pure returns (bytes32) {
        bytes32 noUpgrade = 0;
        return
            keccak256(
                abi.encodePacked(
                    batch.chainId,
                    batch.firstBlockTimestamp,
                    batch.lastBlockTimestamp,
                    uint256(batch.daCommitmentScheme),
                    batch.daCommitment,
                    batch.numberOfLayer1Txs,
                    batch.priorityOperationsHash,
                    batch.l2LogsTreeRoot,
                    noUpgrade,
                    batch.dependencyRootsRollingHash
                )
            );
    }

    function _argumentsOf(
        bytes calldata data,
        uint8 version
    ) private pure returns (bytes calldata) {
        if (data.length == 0) revert EmptyData();
        if (uint8(data[0]) != version) {
            revert IncompatibleEncodingVersion(version, uint8(data[0]));
        }
        return data[1:];
    }
}
