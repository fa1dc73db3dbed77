// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {TestERC20} from "../l1/TestERC20.sol";

/// @notice A token that returns false where others revert.
contract RejectingToken is TestERC20("Rejecting", "NO", 18) {
    /// @notice Transfer nothing.
    function transferFrom(address, address, uint256) public pure override returns (bool) {
        return false;
    }
}
