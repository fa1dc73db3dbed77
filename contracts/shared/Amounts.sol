// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice The bound of what crosses between chains at once: no sum of such amounts overflows.
library Amounts {
    error AmountTooLarge(uint256 amount);

    /// @notice Revert if an amount is larger than any that may be sent.
    function check(uint256 amount) internal pure {
        if (amount > type(uint128).max) revert AmountTooLarge(amount);
    }
}
