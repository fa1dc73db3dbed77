// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Versioned hashes of the bytecode that a transaction publishes on L2.
library FactoryDependencies {
    uint256 internal constant MAX_COUNT = 64;

    enum BytecodeError {
        Version,
        NumberOfWords,
        Length,
        WordsMustBeOdd,
        DictionaryLength
    }

    error TooManyFactoryDeps();
    error LengthIsNotDivisibleBy32(uint256 length);
    error MalformedBytecode(BytecodeError reason);

    /// @notice The hashes of all dependencies of a transaction.
    function hashAll(bytes[] memory codes) internal pure returns (uint256[] memory hashes) {
        if (codes.length > MAX_COUNT) revert TooManyFactoryDeps();
        hashes = new uint256[](codes.length);
        for (uint256 i = 0; i < codes.length; ++i) {
            hashes[i] = uint256(hash(codes[i]));
        }
    }

    /// @notice The versioned hash: 0x0100, the length in words (2 bytes), the end of the SHA-256.
    function hash(bytes memory code) internal pure returns (bytes32) {
        if (code.length % 32 != 0) revert LengthIsNotDivisibleBy32(code.length);
        uint256 words = code.length / 32;
        if (words >= 1 << 16) revert MalformedBytecode(BytecodeError.NumberOfWords);
        if (words % 2 == 0) revert MalformedBytecode(BytecodeError.WordsMustBeOdd);
        return bytes32((1 << 248) | (words << 224) | uint256(uint224(uint256(sha256(code)))));
    }
}
