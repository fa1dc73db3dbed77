// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// Its storage is not that of Box.
contract BoxMoved {
    address private _owner;
    uint256 private _value;

    function retrieve() external view returns (uint256, address) {
        return (_value, _owner);
    }
}
