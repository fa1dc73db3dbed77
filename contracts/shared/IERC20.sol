// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice An ERC-20 token with the optional metadata.
interface IERC20 {
    /// @notice `value` was transferred from `from` to `to`; from zero when minted, to zero when burnt.
    event Transfer(address indexed from, address indexed to, uint256 value);
    /// @notice `owner` approved `spender` to spend `value`.
    event Approval(address indexed owner, address indexed spender, uint256 value);

    /// @notice The name of the token.
    function name() external view returns (string memory);

    /// @notice The symbol of the token.
    function symbol() external view returns (string memory);

    /// @notice The number of decimals of an amount.
    function decimals() external view returns (uint8);

    /// @notice The total supply.
    function totalSupply() external view returns (uint256);

    /// @notice The balance of `account`.
    function balanceOf(address account) external view returns (uint256);

    /// @notice The remaining allowance of `spender` from `owner`.
    function allowance(address owner, address spender) external view returns (uint256);

    /// @notice Transfer `value` to `to`.
    function transfer(address to, uint256 value) external returns (bool);

    /// @notice Approve `spender` to spend `value` in total.
    function approve(address spender, uint256 value) external returns (bool);

    /// @notice Transfer `value` from `from` to `to`, out of the caller's allowance.
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}
