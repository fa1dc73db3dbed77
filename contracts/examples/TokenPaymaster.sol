// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {IERC20} from "../shared/IERC20.sol";
import {Transaction} from "../l2/interfaces/IAccount.sol";
import {PaymasterBase} from "../l2/libraries/PaymasterBase.sol";

/// @notice Pays the fee of senders that give it at least one unit of its token.
contract TokenPaymaster is PaymasterBase {
    uint256 private constant PRICE = 1;

    /// @notice The token that it takes.
    address public immutable allowedToken;

    constructor(address token) {
        allowedToken = token;
    }

    function _agrees(Transaction calldata transaction, uint256) internal override returns (bool) {
        (address token, uint256 amount) = _offer(transaction);
        // Texts, because clients show them and know no custom error of this contract.
        // solhint-disable gas-custom-errors
        require(token == allowedToken, "Invalid token");
        require(amount >= PRICE, "Min allowance too low");
        // solhint-enable gas-custom-errors
        if (!IERC20(token).transferFrom(_sender(transaction), address(this), amount)) {
            revert FailedToTransferTokens(token, address(this), amount);
        }
        return true;
    }
}
