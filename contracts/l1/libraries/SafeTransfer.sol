// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {IERC20} from "../../shared/IERC20.sol";

/// @notice Transfers of tokens that answer as the standard says, or not at all, as some old ones do.
library SafeTransfer {
    error TokenTransferFailed(address token);

    /// @notice Give tokens of this contract away.
    function transfer(address token, address to, uint256 amount) internal {
        _call(token, abi.encodeCall(IERC20.transfer, (to, amount)));
    }

    /// @notice Move tokens by an allowance for this contract.
    function transferFrom(address token, address from, address to, uint256 amount) internal {
        _call(token, abi.encodeCall(IERC20.transferFrom, (from, to, amount)));
    }

    function _call(address token, bytes memory data) private {
        (bool success, bytes memory answer) = token.call(data);
        bool isRefused =
            answer.length != 0 && (answer.length < 32 || uint256(bytes32(answer)) != 1);
        if (!success || isRefused || token.code.length == 0) revert TokenTransferFailed(token);
    }
}
