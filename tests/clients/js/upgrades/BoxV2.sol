// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

contract BoxV2 {
    uint256 private _value;
    bool private _isInitialized;

    function increment() external {
        _value += 1;
    }

    function retrieve() external view returns (uint256) {
        return _value;
    }
}
