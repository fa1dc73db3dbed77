// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice A token older than the standard: transfers return nothing, strings are 32 bytes, and there are no
/// decimals.
contract OldToken {
    /// @notice The name of the token.
    bytes32 public name = "Old token";
    /// @notice The symbol of the token.
    bytes32 public symbol = "OLD";
    /// @notice The balance of an account.
    mapping(address account => uint256 balance) public balanceOf;
    /// @notice Whether transfers do nothing and return false.
    bool public stubborn;

    constructor() {
        balanceOf[msg.sender] = 1 ether;
    }

    /// @notice Approve any amount.
    function approve(address, uint256) external {}

    /// @notice Make transfers fail from now on.
    function stop() external {
        stubborn = true;
    }

    /// @notice Transfer `value` to `to`.
    function transfer(address to, uint256 value) external {
        _move(msg.sender, to, value);
    }

    /// @notice Transfer `value` from `from` to `to`.
    function transferFrom(address from, address to, uint256 value) external {
        _move(from, to, value);
    }

    function _move(address from, address to, uint256 value) private {
        if (stubborn) {
            assembly ("memory-safe") {
                mstore(0, 0)
                return(0, 32)
            }
        }
        balanceOf[from] -= value;
        balanceOf[to] += value;
    }
}
