// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice A token from before the standard: its transfers answer nothing, and it has no description.
contract SilentToken {
    /// @notice What an account owns.
    mapping(address account => uint256) public balanceOf;
    /// @notice What a spender may take.
    mapping(address owner => mapping(address spender => uint256)) public allowance;

    /// @notice Make `amount` for `to`.
    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    /// @notice Allow `spender` to take `amount`.
    function approve(address spender, uint256 amount) external {
        allowance[msg.sender][spender] = amount;
    }

    /// @notice Give `amount` to `to`.
    function transfer(address to, uint256 amount) external {
        balanceOf[msg.sender] -= amount;
        balanceOf[to] += amount;
    }

    /// @notice Move `amount` by an allowance.
    function transferFrom(address from, address to, uint256 amount) external {
        allowance[from][msg.sender] -= amount;
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
    }
}
