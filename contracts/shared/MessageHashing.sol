// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2Log} from "./Messaging.sol";
import {Merkle} from "./Merkle.sol";

/// @dev The hash of 88 zero bytes: an empty leaf of a message tree.
bytes32 constant DEFAULT_LEAF = 0x72abee45b59e344af8a6e520241c4744aff26ed411f4c4b00f8af09adada43ba;

/// @notice The result of a proof: a batch root of the chain, or its root on its settlement layer.
struct ProofResult {
    bytes32 batchRoot;
    bool isFinal;
    bytes32 chainRoot;
    uint256 settlementBatchNumber;
    uint256 settlementMask;
    uint256 settlementChainId;
    uint256 wordsRead;
}

/// @notice Hashes of L2-to-L1 logs, and the format of their proofs.
library MessageHashing {
    bytes32 internal constant BATCH_LEAF_PADDING = keccak256("zkSync:BatchLeaf");
    bytes32 internal constant CHAIN_ID_LEAF_PADDING = keccak256("zkSync:ChainIdLeaf");
    uint8 internal constant METADATA_VERSION = 1;
    /// @dev The bits below the four bytes of the metadata.
    uint256 private constant BELOW_METADATA = type(uint224).max;

    error ProofIsEmpty();
    error ProofTooShort(uint256 length, uint256 needed);
    error ProofTooLong(uint256 length, uint256 needed);
    error UnsupportedProofMetadataVersion(uint256 version);
    error InvalidProofLengthForFinalNode();

    /// @notice The leaf of a log in its batch's message tree.
    function logLeaf(L2Log memory log) internal pure returns (bytes32) {
        return
            keccak256(
                abi.encodePacked(
                    log.l2ShardId,
                    log.isService,
                    log.txNumberInBatch,
                    log.sender,
                    log.key,
                    log.value
                )
            );
    }

    /// @notice The leaf of a batch, whose root L1 got at `timestamp`, in the tree of its chain.
    function batchLeaf(
        bytes32 batchRoot,
        uint256 batchNumber,
        uint256 timestamp
    ) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(BATCH_LEAF_PADDING, batchRoot, batchNumber, timestamp));
    }

    /// @notice The leaf of a chain in the message tree of its settlement layer.
    function chainIdLeaf(bytes32 chainRoot, uint256 chainId) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(CHAIN_ID_LEAF_PADDING, chainRoot, chainId));
    }

    /// @notice Compute a proof from `leaf` to the end of this chain's part.
    /// @dev If the first word is no metadata, the proof is a bare path, as before protocol version 26.
    function follow(
        uint256 batchNumber,
        uint256 mask,
        bytes32 leaf,
        bytes32[] calldata proof
    ) internal pure returns (ProofResult memory result) {
        if (proof.length == 0) revert ProofIsEmpty();
        uint256 metadata = uint256(proof[0]);
        if (metadata & BELOW_METADATA != 0) {
            result.batchRoot = Merkle.root(proof, mask, leaf);
            result.isFinal = true;
            return result;
        }
        if (metadata >> 248 != METADATA_VERSION) {
            revert UnsupportedProofMetadataVersion(metadata >> 248);
        }
        uint256 end = 1 + ((metadata >> 240) & 0xff);
        uint256 batchPathLength = (metadata >> 232) & 0xff;
        result.isFinal = (metadata >> 224) & 0xff != 0;

        if (result.isFinal) {
            if (batchPathLength != 0) revert InvalidProofLengthForFinalNode();
            if (proof.length > end) revert ProofTooLong(proof.length, end);
        }
        _checkLength(proof, end);
        result.batchRoot = Merkle.root(proof[1:end], mask, leaf);
        if (!result.isFinal) {
            _followToSettlementLayer(result, batchNumber, proof, end, batchPathLength);
        }
    }

    function _followToSettlementLayer(
        ProofResult memory result,
        uint256 batchNumber,
        bytes32[] calldata proof,
        uint256 start,
        uint256 pathLength
    ) private pure {
        uint256 end = start + 1 + pathLength;
        _checkLength(proof, end + 2);
        result.chainRoot = Merkle.root(
            proof[start + 1:end],
            uint256(proof[start]),
            keccak256(abi.encodePacked(BATCH_LEAF_PADDING, result.batchRoot, batchNumber))
        );
        uint256 packed = uint256(proof[end]);
        result.settlementBatchNumber = packed >> 128;
        result.settlementMask = packed & type(uint128).max;
        result.settlementChainId = uint256(proof[end + 1]);
        result.wordsRead = end + 2;
    }

    function _checkLength(bytes32[] calldata proof, uint256 needed) private pure {
        if (proof.length < needed) revert ProofTooShort(proof.length, needed);
    }
}
