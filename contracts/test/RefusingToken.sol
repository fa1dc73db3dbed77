// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {TestERC20} from "../l1/TestERC20.sol";

/// @notice A token that answers false where others revert.
contract RefusingToken is TestERC20("Refusing", "NO", 18) {
    /// @notice Move nothing.
    function transferFrom(address, address, uint256) public pure override returns (bool) {
        return false;
    }
}
