// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice A token from before the standard was finished: transfers answer nothing, texts are 32
/// bytes, and nothing is said about decimals.
contract OldToken {
    /// @notice The name for people.
    bytes32 public name = "Old token";
    /// @notice The abbreviation for people.
    bytes32 public symbol = "OLD";
    /// @notice What an account owns.
    mapping(address account => uint256 balance) public balanceOf;
    /// @notice Whether transfers do nothing but say that they failed.
    bool public stubborn;

    constructor() {
        balanceOf[msg.sender] = 1 ether;
    }

    /// @notice Allow everything.
    function approve(address, uint256) external {}

    /// @notice Let transfers fail from now on.
    function stop() external {
        stubborn = true;
    }

    /// @notice Move `value` to `to`.
    function transfer(address to, uint256 value) external {
        _move(msg.sender, to, value);
    }

    /// @notice Move `value` from `from` to `to`.
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
