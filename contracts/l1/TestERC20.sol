// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {StandardERC20} from "../shared/StandardERC20.sol";

/// @notice A token for tests: any caller may mint any amount.
contract TestERC20 is StandardERC20 {
    /// @notice The name of the token.
    string public name;
    /// @notice The symbol of the token.
    string public symbol;
    /// @notice The number of decimals of an amount.
    uint8 public immutable decimals;

    constructor(string memory name_, string memory symbol_, uint8 decimals_) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
    }

    /// @notice Mint `amount` to `to`.
    function mint(address to, uint256 amount) external returns (bool) {
        _mint(to, amount);
        return true;
    }
}
