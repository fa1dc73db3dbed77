// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {TestERC20} from "../l1/TestERC20.sol";

/// @notice A token that makes a call on every transfer.
contract ReentrantToken is TestERC20("Reentrant", "RE", 18) {
    address private _target;
    bytes private _data;
    /// @notice Whether the last call succeeded.
    bool public succeeded;
    /// @notice The return data of that call.
    bytes public returnData;

    /// @notice Call `target` on every transfer.
    function arm(address target, bytes calldata data) external {
        _target = target;
        _data = data;
    }

    function _transfer(address from, address to, uint256 value) internal override {
        if (_target != address(0)) (succeeded, returnData) = _target.call(_data);
        super._transfer(from, to, value);
    }
}
