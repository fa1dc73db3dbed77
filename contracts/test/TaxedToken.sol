// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {StandardERC20} from "../shared/StandardERC20.sol";

/// @notice A token with a transfer fee of one percent.
contract TaxedToken is StandardERC20 {
    /// @notice The name of the token.
    string public name = "Taxed";
    /// @notice The symbol of the token.
    string public symbol = "TAX";
    /// @notice The number of decimals of an amount.
    uint8 public decimals = 18;

    constructor() {
        _mint(msg.sender, 1 ether);
    }

    function _transfer(address from, address to, uint256 value) internal override {
        super._transfer(from, address(this), value / 100);
        super._transfer(from, to, value - value / 100);
    }
}
