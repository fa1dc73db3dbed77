// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Copies the end of data in memory, which cannot be sliced.
library Tail {
    /// @notice The bytes from `start` on; none if there are no more.
    function from(bytes memory data, uint256 start) internal pure returns (bytes memory tail) {
        uint256 length = data.length > start ? data.length - start : 0;
        tail = new bytes(length);
        assembly ("memory-safe") {
            mcopy(add(tail, 0x20), add(add(data, 0x20), start), length)
        }
    }
}
