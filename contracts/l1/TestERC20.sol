// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {StandardERC20} from "../shared/StandardERC20.sol";

/// @notice A token for trying out: everybody may make as much of it as he likes.
contract TestERC20 is StandardERC20 {
    /// @notice The name for people.
    string public name;
    /// @notice The abbreviation for people.
    string public symbol;
    /// @notice How many digits of an amount stand behind the point.
    uint8 public immutable decimals;

    constructor(string memory name_, string memory symbol_, uint8 decimals_) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
    }

    /// @notice Make `amount` for `to`.
    function mint(address to, uint256 amount) external returns (bool) {
        _mint(to, amount);
        return true;
    }
}
