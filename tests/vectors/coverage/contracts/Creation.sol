// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Parent {
    uint256 public inherited;

    constructor(uint256 given) {
        if (given > 100) {
            inherited = 100;
        } else {
            inherited = given;
        }
    }
}

contract Creation is Parent {
    uint256 public constant LIMIT = 10;
    uint256 public immutable limit;
    uint256 public start = 5;
    address public maker;

    constructor(uint256 given) Parent(given * 2) {
        require(given > 0, "nothing");
        limit = bounded(given);
        maker = msg.sender;
    }

    function bounded(uint256 given) internal pure returns (uint256) {
        if (given > LIMIT) {
            return LIMIT;
        }
        return given;
    }

    function within(uint256 value) external view returns (bool) {
        return value <= limit;
    }
}

contract Maker {
    Creation[] public made;

    function make(uint256 given) external {
        made.push(new Creation(given));
    }
}
