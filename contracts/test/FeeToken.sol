// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {TestERC20} from "../l1/TestERC20.sol";

/// @notice A token with a transfer fee of one percent.
contract FeeToken is TestERC20("Fee", "FEE", 18) {
    function _transfer(address from, address to, uint256 value) internal override {
        super._transfer(from, to, value - value / 100);
        _burn(from, value / 100);
    }
}
