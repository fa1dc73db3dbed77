// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Rejects calls of a guarded function while another one of the same contract is running.
abstract contract ReentrancyGuard {
    bool private transient _entered;

    error Reentrancy();

    modifier nonReentrant() {
        if (_entered) revert Reentrancy();
        _entered = true;
        _;
        _entered = false;
    }
}
