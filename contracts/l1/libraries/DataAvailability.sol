// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Checks that the data of a batch is published as its scheme requires.
library DataAvailability {
    /// @dev Nothing is published.
    uint8 internal constant NONE = 1;
    /// @dev The data is part of the call.
    uint8 internal constant CALLDATA = 3;
    /// @dev Hash of the state differences (not used), hash of the data, number of blobs, hash of the blob (not used).
    uint256 private constant HEADER_LENGTH = 97;
    /// @dev Where the data is (1 byte) before it, a commitment to a blob (not used) after it.
    uint256 private constant FRAME_LENGTH = 33;
    uint256 private constant MAX_LENGTH = 4096 * 31;

    error UnknownDAScheme(uint8 scheme);
    error InvalidDAInputLength(uint256 length);
    error InvalidDAHeader();
    error InvalidPubdataSource(uint8 source);
    error InvalidPubdataHash(bytes32 expected, bytes32 actual);
    error InvalidDACommitment(bytes32 expected, bytes32 actual);

    /// @notice Revert if no chain can have the scheme.
    function requireKnown(uint8 scheme) internal pure {
        if (scheme != NONE && scheme != CALLDATA) revert UnknownDAScheme(scheme);
    }

    /// @notice Revert if the data of a batch is not published.
    /// @param scheme The chain's scheme.
    /// @param commitment The batch's data availability commitment.
    /// @param input The operator's input, in the scheme's layout. It is not usable any more: its bytes are the result's.
    /// @return data The data that is published.
    function check(
        uint8 scheme,
        bytes32 commitment,
        bytes memory input
    ) internal pure returns (bytes memory data) {
        bytes32 expected;
        if (scheme == CALLDATA) {
            expected = _commitmentToCalldata(input);
            data = _dataOf(input);
        } else if (scheme == NONE) {
            if (input.length != 32) revert InvalidDAInputLength(input.length);
            expected = bytes32(input);
            if (expected != bytes32(0)) revert InvalidDAHeader();
        } else {
            revert UnknownDAScheme(scheme);
        }
        if (commitment != expected) revert InvalidDACommitment(expected, commitment);
    }

    function _commitmentToCalldata(bytes memory input) private pure returns (bytes32 commitment) {
        uint256 length = input.length;
        if (
            length < HEADER_LENGTH + FRAME_LENGTH ||
            length - HEADER_LENGTH - FRAME_LENGTH > MAX_LENGTH
        ) revert InvalidDAInputLength(length);
        bytes32 stateDiffs;
        bytes32 claimed;
        bytes32 blobHash;
        bytes32 actual;
        uint256 header = HEADER_LENGTH;
        uint256 frame = FRAME_LENGTH;
        assembly ("memory-safe") {
            let start := add(input, 0x20)
            stateDiffs := mload(start)
            claimed := mload(add(start, 32))
            blobHash := mload(add(start, 65))
            actual := keccak256(add(start, add(header, 1)), sub(length, add(header, frame)))
            commitment := keccak256(start, header)
        }
        bool isPlain = stateDiffs == bytes32(0) && blobHash == bytes32(0) && input[64] == 0x01;
        if (!isPlain) revert InvalidDAHeader();
        if (input[HEADER_LENGTH] != 0x00) revert InvalidPubdataSource(uint8(input[HEADER_LENGTH]));
        if (claimed != actual) revert InvalidPubdataHash(claimed, actual);
    }

    /// @dev Without a copy: the length takes the place of the 32 bytes before the data, which nothing reads any more.
    function _dataOf(bytes memory input) private pure returns (bytes memory data) {
        uint256 length = input.length - HEADER_LENGTH - FRAME_LENGTH;
        uint256 header = HEADER_LENGTH;
        assembly ("memory-safe") {
            data := add(input, add(header, 1))
            mstore(data, length)
        }
    }
}
