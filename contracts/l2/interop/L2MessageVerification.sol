// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_INTEROP_ROOT_STORAGE, L2_MESSENGER} from "../../shared/Addresses.sol";
import {Merkle} from "../../shared/Merkle.sol";
import {DEFAULT_LEAF, MessageHashing} from "../../shared/MessageHashing.sol";
import {L2Log, L2Message} from "../../shared/Messaging.sol";
import {IInteropRoots} from "../interfaces/IInterop.sol";

/// @notice Proofs, on this chain, of messages of any chain on the same L1.
/// @dev A proof leads from the message to the root of its batch, from there to that of its chain, and to the root
/// over all chains of a block of L1, which this chain has imported.
contract L2MessageVerification {
    error HashedLogIsDefault();
    error InvalidProofLength(uint256 expected, uint256 actual);
    error InvalidProofMetadata(uint256 wordIndex);

    /// @notice Whether `message` was sent by a chain; false if L1's root is another one, or was not imported.
    function proveL2MessageInclusionShared(
        uint256 chainId,
        uint256 batchNumber,
        uint256 index,
        L2Message calldata message,
        bytes32[] calldata proof
    ) external view returns (bool) {
        L2Log memory log = L2Log({
            l2ShardId: 0,
            isService: true,
            txNumberInBatch: message.txNumberInBatch,
            sender: L2_MESSENGER,
            key: bytes32(uint256(uint160(message.sender))),
            value: keccak256(message.data)
        });
        return _prove(chainId, batchNumber, index, MessageHashing.logLeaf(log), proof);
    }

    /// @notice Whether `log` was written by a chain.
    function proveL2LogInclusionShared(
        uint256 chainId,
        uint256 batchNumber,
        uint256 index,
        L2Log calldata log,
        bytes32[] calldata proof
    ) external view returns (bool) {
        bytes32 leaf = MessageHashing.logLeaf(log);
        if (leaf == DEFAULT_LEAF) revert HashedLogIsDefault();
        return _prove(chainId, batchNumber, index, leaf, proof);
    }

    function _prove(
        uint256 chainId,
        uint256 batchNumber,
        uint256 index,
        bytes32 leaf,
        bytes32[] calldata proof
    ) private view returns (bool) {
        (uint256 logLength, uint256 batchLength) = _lengths(proof, 0, false);
        // The log path; then time, position and path of the batch; then the position of the chain, and L1.
        uint256 batchAt = 1 + logLength;
        uint256 chainAt = batchAt + 2 + batchLength;
        _checkLength(proof, chainAt + 3);
        bytes32 node = Merkle.root(proof[1:batchAt], index, leaf);
        node = MessageHashing.batchLeaf(node, batchNumber, uint256(proof[batchAt]));
        node = Merkle.root(proof[batchAt + 2:chainAt], uint256(proof[batchAt + 1]), node);
        node = MessageHashing.chainIdLeaf(node, chainId);

        (uint256 chainLength, uint256 none) = _lengths(proof, chainAt + 2, true);
        uint256 end = chainAt + 3 + chainLength;
        if (none != 0 || proof.length != end) revert InvalidProofLength(end, proof.length);
        uint256 packed = uint256(proof[chainAt]);
        node = Merkle.root(proof[chainAt + 3:], packed & type(uint128).max, node);
        bytes32 imported = IInteropRoots(L2_INTEROP_ROOT_STORAGE).interopRoots(
            uint256(proof[chainAt + 1]),
            packed >> 128
        );
        return imported != bytes32(0) && imported == node;
    }

    function _lengths(
        bytes32[] calldata proof,
        uint256 wordIndex,
        bool isFinal
    ) private pure returns (uint256 path, uint256 batchPath) {
        _checkLength(proof, wordIndex + 1);
        uint256 word = uint256(proof[wordIndex]);
        bool isValid =
            word & type(uint224).max == 0 &&
                word >> 248 == MessageHashing.METADATA_VERSION &&
                (word >> 224) & 0xff == (isFinal ? 1 : 0);
        if (!isValid) revert InvalidProofMetadata(wordIndex);
        return ((word >> 240) & 0xff, (word >> 232) & 0xff);
    }

    function _checkLength(bytes32[] calldata proof, uint256 needed) private pure {
        if (proof.length < needed) revert InvalidProofLength(needed, proof.length);
    }
}
