// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Roots of binary Keccak trees from paths.
library Merkle {
    error MerklePathTooLong(uint256 length);
    error MerkleIndexOutOfBounds(uint256 index, uint256 pathLength);
    error MerklePathLengthMismatch(uint256 left, uint256 right);
    error MerkleNothingToProve();

    /// @notice The root of the tree with `leaf` at `index`, given its siblings from the leaf up.
    function root(
        bytes32[] calldata path,
        uint256 index,
        bytes32 leaf
    ) internal pure returns (bytes32 current) {
        _checkBounds(index, path.length);
        current = leaf;
        for (uint256 level = 0; level < path.length; ++level) {
            current = (index & 1 == 0) ? hash(current, path[level]) : hash(path[level], current);
            index >>= 1;
        }
    }

    /// @notice The root of the tree with `items` as consecutive leaves from `start` on.
    /// @dev A path's entry is used only on levels where the range does not end with a complete pair.
    /// @param left The siblings of the range's left end, from the leaves up.
    /// @param right The siblings of its right end.
    /// @param items The leaves; the memory is overwritten.
    function rootOfRange(
        bytes32[] memory left,
        bytes32[] memory right,
        uint256 start,
        bytes32[] memory items
    ) internal pure returns (bytes32) {
        if (left.length != right.length) revert MerklePathLengthMismatch(left.length, right.length);
        if (items.length == 0) revert MerkleNothingToProve();
        _checkBounds(start + items.length - 1, left.length);

        uint256 count = items.length;
        for (uint256 level = 0; level < left.length; ++level) {
            uint256 odd = start & 1;
            uint256 parents = (count + odd + 1) / 2;
            for (uint256 i = 0; i < parents; ++i) {
                uint256 second = 2 * i + 1 - odd;
                bytes32 a = (i == 0 && odd == 1) ? left[level] : items[second - 1];
                bytes32 b = second < count ? items[second] : right[level];
                items[i] = hash(a, b);
            }
            count = parents;
            start >>= 1;
        }
        return items[0];
    }

    /// @notice The parent of two nodes.
    function hash(bytes32 a, bytes32 b) internal pure returns (bytes32 result) {
        assembly ("memory-safe") {
            mstore(0x00, a)
            mstore(0x20, b)
            result := keccak256(0x00, 0x40)
        }
    }

    function _checkBounds(uint256 index, uint256 length) private pure {
        if (length >= 256) revert MerklePathTooLong(length);
        if (index >> length != 0) revert MerkleIndexOutOfBounds(index, length);
    }
}
