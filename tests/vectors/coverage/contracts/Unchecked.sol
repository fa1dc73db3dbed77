// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Unchecked {
    function add(uint256 a, uint256 b) external pure returns (uint256 result) {
        unchecked {
            result = a + b;
            if (result < a) {
                result = type(uint256).max;
            }
        }
    }

    function decrement(uint256 a) external pure returns (uint256) {
        unchecked {
            a--;
        }
        {
            a = a / 2;
        }
        return a;
    }

    function divide(uint256 a, uint256 b) external pure returns (uint256) {
        uint256 quotient = a / b;
        uint256 remainder;
        remainder = a % b;
        return quotient + remainder;
    }
}
