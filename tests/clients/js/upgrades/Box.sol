// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

contract Box {
    uint256 private _value;
    bool private _isInitialized;

    function initialize(uint256 value) external {
        require(!_isInitialized, "initialized");
        _isInitialized = true;
        _value = value;
    }

    function store(uint256 value) external {
        _value = value;
    }

    function retrieve() external view returns (uint256) {
        return _value;
    }
}
