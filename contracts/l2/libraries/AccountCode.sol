// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Tells accounts with a key from contracts by their code.
library AccountCode {
    bytes3 private constant DELEGATION = 0xef0100;
    uint256 private constant DELEGATION_SIZE = 23;

    /// @notice Whether there is no code, or only a delegation (EIP-7702).
    function hasKey(address account) internal view returns (bool) {
        uint256 size = account.code.length;
        if (size == 0) return true;
        return size == DELEGATION_SIZE && bytes3(account.code) == DELEGATION;
    }
}
