// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract ShortCircuit {
    mapping(address => bool) public admins;
    uint256 public calls;

    function any(bool a, bool b, bool c) external pure returns (bool) {
        return a || b || c;
    }

    function all(bool a, bool b, bool c) external pure returns (bool) {
        return a && b && c;
    }

    function mixed(uint256 value, bool override_) external returns (uint256) {
        if ((value > 10 && value < 20) || override_) {
            calls++;
        }
        require(value != 3 || admins[msg.sender], "three");
        return calls;
    }

    function effect(bool a) external returns (bool) {
        return a && counted();
    }

    function counted() internal returns (bool) {
        calls++;
        return true;
    }
}
