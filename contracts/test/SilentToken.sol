// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice A token older than the standard: its transfers return nothing, and it has no metadata.
contract SilentToken {
    /// @notice The balance of an account.
    mapping(address account => uint256) public balanceOf;
    /// @notice The allowance of a spender.
    mapping(address owner => mapping(address spender => uint256)) public allowance;

    /// @notice Mint `amount` to `to`.
    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    /// @notice Approve `spender` to spend `amount`.
    function approve(address spender, uint256 amount) external {
        allowance[msg.sender][spender] = amount;
    }

    /// @notice Transfer `amount` to `to`.
    function transfer(address to, uint256 amount) external {
        balanceOf[msg.sender] -= amount;
        balanceOf[to] += amount;
    }

    /// @notice Transfer `amount` by an allowance.
    function transferFrom(address from, address to, uint256 amount) external {
        allowance[from][msg.sender] -= amount;
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
    }
}
