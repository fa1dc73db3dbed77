// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Modifiers {
    address public owner;
    uint256 public value;
    uint256 private _entered;

    constructor() {
        owner = msg.sender;
    }

    modifier onlyOwner() {
        require(msg.sender == owner, "not the owner");
        _;
    }

    modifier atLeast(uint256 given, uint256 minimum) {
        if (given < minimum) {
            revert("too little");
        }
        _;
    }

    modifier once() {
        require(_entered == 0, "entered");
        _entered = 1;
        _;
        _entered = 0;
    }

    modifier unused() {
        require(value > 0);
        _;
    }

    function set(uint256 given) external onlyOwner {
        value = given;
    }

    function raise(uint256 given) external onlyOwner atLeast(given, 10) once {
        value += given;
    }

    function strangers() external once {
        value = 0;
    }
}
