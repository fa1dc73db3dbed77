// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Checks {
    error TooSmall(uint256 value, uint256 minimum);

    uint256 public total;

    function withMessage(uint256 value) external {
        require(value > 0, "zero");
        total += value;
    }

    function withoutMessage(uint256 value) external {
        require(value > 0);
        total += value;
    }

    function withDynamicMessage(uint256 value, string memory reason) external {
        require(value > 0, reason);
        total += value;
    }

    function withError(uint256 value) external {
        if (value < 3) revert TooSmall(value, 3);
        total += value;
    }

    function asserted(uint256 value) external {
        assert(value != 7);
        total += value;
    }

    function reverts() external pure {
        revert("always");
    }

    function neverFails(uint256 value) external {
        require(
            value > 0,
            "zero"
        );
        total += value;
    }
}
