// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {IERC20} from "../shared/IERC20.sol";
import {Transaction} from "./interfaces/IAccount.sol";
import {IPaymasterFlow} from "./interfaces/IPaymaster.sol";
import {PaymasterBase} from "./libraries/PaymasterBase.sol";

/// @notice Pays the fees of everybody on a development chain: for one unit of any token a wei, or for nothing.
/// @dev In `approvalBased` it behaves as the paymaster of the public testnets; `general` is free.
contract TestnetPaymaster is PaymasterBase {
    uint256 private constant EMPTY_REASON = 4;

    error InsufficientAllowance(uint256 provided, uint256 required);

    function _agrees(
        Transaction calldata transaction,
        uint256 fee
    ) internal override returns (bool) {
        if (_flow(transaction) == IPaymasterFlow.general.selector) return true;
        (address token, uint256 amount) = _offer(transaction);
        _take(token, _sender(transaction), amount);
        return amount >= fee;
    }

    function _take(address token, address sender, uint256 amount) private {
        uint256 provided = IERC20(token).allowance(sender, address(this));
        if (provided < amount) revert InsufficientAllowance(provided, amount);
        try IERC20(token).transferFrom(sender, address(this), amount) {} catch (
            bytes memory reason
        ) {
            if (reason.length <= EMPTY_REASON) {
                revert FailedToTransferTokens(token, address(this), amount);
            }
            assembly ("memory-safe") {
                revert(add(0x20, reason), mload(reason))
            }
        }
    }
}
