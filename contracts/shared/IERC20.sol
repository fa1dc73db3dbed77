// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice A token of ERC-20 with the optional description.
interface IERC20 {
    /// @notice `value` went from `from` to `to`; from zero when made, to zero when destroyed.
    event Transfer(address indexed from, address indexed to, uint256 value);
    /// @notice `spender` may now take `value` from `owner`.
    event Approval(address indexed owner, address indexed spender, uint256 value);

    /// @notice The name for people.
    function name() external view returns (string memory);

    /// @notice The abbreviation for people.
    function symbol() external view returns (string memory);

    /// @notice How many digits of an amount stand behind the point.
    function decimals() external view returns (uint8);

    /// @notice The sum of all balances.
    function totalSupply() external view returns (uint256);

    /// @notice What `account` owns.
    function balanceOf(address account) external view returns (uint256);

    /// @notice What `spender` may still take from `owner`.
    function allowance(address owner, address spender) external view returns (uint256);

    /// @notice Give `value` to `to`.
    function transfer(address to, uint256 value) external returns (bool);

    /// @notice Allow `spender` to take `value` in all.
    function approve(address spender, uint256 value) external returns (bool);

    /// @notice Move `value` from `from` to `to`, out of the caller's allowance.
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}
