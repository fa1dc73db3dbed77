// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {IERC20} from "../../shared/IERC20.sol";

/// @notice Transfers of tokens that return true, as the standard requires, or nothing, as some old ones do. A token that
/// reverts with a reason is the one who says why.
library SafeTransfer {
    error TokenTransferFailed(address token);

    /// @notice Transfer tokens of this contract.
    function transfer(address token, address to, uint256 amount) internal {
        _call(token, abi.encodeCall(IERC20.transfer, (to, amount)));
    }

    /// @notice Transfer tokens by an allowance for this contract.
    function transferFrom(address token, address from, address to, uint256 amount) internal {
        _call(token, abi.encodeCall(IERC20.transferFrom, (from, to, amount)));
    }

    /// @notice Let `spender` transfer tokens of this contract.
    function approve(address token, address spender, uint256 amount) internal {
        _call(token, abi.encodeCall(IERC20.approve, (spender, amount)));
    }

    function _call(address token, bytes memory data) private {
        (bool success, bytes memory returnData) = token.call(data);
        if (!success && returnData.length != 0) {
            assembly ("memory-safe") {
                revert(add(returnData, 0x20), mload(returnData))
            }
        }
        bool isRejected =
            returnData.length != 0 && (returnData.length < 32 || uint256(bytes32(returnData)) != 1);
        if (!success || isRejected || token.code.length == 0) revert TokenTransferFailed(token);
    }
}
