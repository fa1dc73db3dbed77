// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {
    L2_BASE_TOKEN,
    L2_INTEROP_CENTER,
    L2_INTEROP_HANDLER,
    L2_NATIVE_TOKEN_VAULT
} from "../../shared/Addresses.sol";

/// @notice Where the base token that leaves by bundles goes, and where what arrives by them comes from.
/// @dev Its balance is set in the genesis, backed by nothing, and part of no sum.
contract BaseTokenHolder {
    error Unauthorized(address caller);
    error PaymentFailed(address receiver);

    /// @notice Take what leaves this chain.
    receive() external payable {
        _checkPayer();
    }

    /// @notice Give the handler what has arrived with a bundle.
    function give(uint256 amount) external {
        if (msg.sender != L2_INTEROP_HANDLER) revert Unauthorized(msg.sender);
        (bool success, ) = msg.sender.call{value: amount}("");
        if (!success) revert PaymentFailed(msg.sender);
    }

    function _checkPayer() private view {
        bool isKnown =
            msg.sender == L2_INTEROP_CENTER ||
                msg.sender == L2_NATIVE_TOKEN_VAULT ||
                msg.sender == L2_BASE_TOKEN;
        if (!isKnown) revert Unauthorized(msg.sender);
    }
}
