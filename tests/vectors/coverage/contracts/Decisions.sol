// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Decisions {
    function sign(int256 value) external pure returns (int256) {
        if (value > 0) {
            return 1;
        } else if (value < 0) {
            return -1;
        } else {
            return 0;
        }
    }

    function nested(bool a, bool b) external pure returns (uint256 result) {
        if (a) {
            if (b) {
                result = 3;
            } else {
                result = 2;
            }
            result += 10;
        }
    }

    function withoutBraces(uint256 value) external pure returns (uint256) {
        if (value > 10) return 10;
        if (value > 5)
            return 5;
        else
            return value;
    }

    function empty(bool a) external pure {
        if (a) {}
    }

    function never(uint256 value) external pure returns (uint256) {
        return value;
    }
}
