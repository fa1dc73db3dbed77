// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Loops {
    uint256[] public items;

    function fill(uint256 count) external {
        for (uint256 i = 0; i < count; i++) {
            items.push(i);
        }
    }

    function sum() external view returns (uint256 total) {
        uint256 i;
        while (i < items.length) {
            if (items[i] == 2) {
                i++;
                continue;
            }
            total += items[i];
            ++i;
        }
    }

    function find(uint256 wanted) external view returns (uint256) {
        for (uint256 i; ; ++i) {
            if (i == items.length) break;
            if (items[i] == wanted) return i;
        }
        return type(uint256).max;
    }

    function halve(uint256 value) external pure returns (uint256 steps) {
        do {
            value /= 2;
            steps++;
        } while (value > 0);
    }

    function nothing(uint256 count) external pure returns (uint256 found) {
        for (uint256 i = 0; i < count; i++) found++;
    }
}
