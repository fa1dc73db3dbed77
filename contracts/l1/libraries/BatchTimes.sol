// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice The time of each batch.
/// @dev Four share a slot, which three of four commits then find in use: a slot for each would cost a commit 14,000 gas
/// more. One of the last batch alone would not do, because batches can be reverted.
library BatchTimes {
    uint256 private constant GROUP = 4;
    uint256 private constant BITS = 64;

    struct Times {
        mapping(uint256 group => uint256) packed;
    }

    /// @notice Record the time of a batch, in place of one that was recorded before.
    function set(Times storage times, uint256 number, uint64 time) internal {
        uint256 group = number / GROUP;
        uint256 shift = (number % GROUP) * BITS;
        uint256 others = times.packed[group] & ~(uint256(type(uint64).max) << shift);
        times.packed[group] = others | (uint256(time) << shift);
    }

    /// @notice The time of a batch, or zero.
    function get(Times storage times, uint256 number) internal view returns (uint64) {
        return uint64(times.packed[number / GROUP] >> ((number % GROUP) * BITS));
    }
}
