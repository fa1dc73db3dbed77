// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Ternary {
    uint256 public last;

    function larger(uint256 a, uint256 b) external pure returns (uint256) {
        return a > b ? a : b;
    }

    function nested(uint256 a) external returns (uint256) {
        uint256 result = a == 0 ? 100 : a == 1 ? 101 : a > 5 ? 105 : 102;
        last = (a > 2 ? result : 0) + 1;
        return result;
    }

    function always(bool a) external pure returns (uint256) {
        return twice(a ? 1 : 2);
    }

    function twice(uint256 a) public pure returns (uint256) {
        return 2 * a;
    }
}
