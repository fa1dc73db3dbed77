// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @dev Selector of `finalizeEthWithdrawal(uint256,uint256,uint16,bytes,bytes32[])`, with which the message of
/// a withdrawal of the base token starts: selector, receiver (20 bytes), amount (32), and, if there is a
/// message of the user, sender (20) and message.
bytes4 constant FINALIZE_ETH_WITHDRAWAL = 0x6c0960f9;

/// @dev Selector of `finalizeWithdrawal(uint256,uint256,uint16,bytes,bytes32[])`, with which the message of a
/// withdrawal by the legacy ERC-20 bridge starts: selector, receiver (20 bytes), L1 token (20), amount (32).
bytes4 constant FINALIZE_ERC20_WITHDRAWAL = 0x11a2ccc1;
