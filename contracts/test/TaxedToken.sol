// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {StandardERC20} from "../shared/StandardERC20.sol";

/// @notice A token that keeps a hundredth of what is moved.
contract TaxedToken is StandardERC20 {
    /// @notice The name for people.
    string public name = "Taxed";
    /// @notice The abbreviation for people.
    string public symbol = "TAX";
    /// @notice How many digits of an amount stand behind the point.
    uint8 public decimals = 18;

    constructor() {
        _mint(msg.sender, 1 ether);
    }

    function _transfer(address from, address to, uint256 value) internal override {
        super._transfer(from, address(this), value / 100);
        super._transfer(from, to, value - value / 100);
    }
}
