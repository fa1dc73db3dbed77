// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {BOOTLOADER} from "../shared/Addresses.sol";
import {IERC20} from "../shared/IERC20.sol";
import {Transaction} from "../l2/interfaces/IAccount.sol";
import {ExecutionResult, IPaymaster, IPaymasterFlow} from "../l2/interfaces/IPaymaster.sol";

/// @notice Pays the fee of whoever gives it at least one unit of its token.
contract TokenPaymaster is IPaymaster {
    uint256 private constant SELECTOR = 4;
    uint256 private constant PRICE = 1;

    /// @notice The token that it takes.
    address public immutable allowedToken;

    error Unauthorized(address caller);
    error FailedToPayOperator();
    error FailedToTransferTokens(address token, address to, uint256 amount);

    constructor(address token) {
        allowedToken = token;
    }

    /// @notice Accept ether, from which fees are paid.
    receive() external payable {}

    /// @inheritdoc IPaymaster
    function validateAndPayForPaymasterTransaction(
        bytes32,
        bytes32,
        Transaction calldata transaction
    ) external payable returns (bytes4 magic, bytes memory context) {
        if (msg.sender != BOOTLOADER) revert Unauthorized(msg.sender);
        _takeTokens(transaction);
        uint256 fee = transaction.gasLimit * transaction.maxFeePerGas;
        (bool isPaid, ) = BOOTLOADER.call{value: fee}("");
        if (!isPaid) revert FailedToPayOperator();
        return (IPaymaster.validateAndPayForPaymasterTransaction.selector, "");
    }

    /// @inheritdoc IPaymaster
    function postTransaction(
        bytes calldata,
        Transaction calldata,
        bytes32,
        bytes32,
        ExecutionResult,
        uint256
    ) external payable {
        // The price does not depend on the gas that was used.
    }

    function _takeTokens(Transaction calldata transaction) private {
        bytes calldata input = transaction.paymasterInput;
        // Texts, because clients show them and know no custom error of this contract.
        // solhint-disable gas-custom-errors, reason-string
        require(
            input.length >= SELECTOR,
            "The standard paymaster input must be at least 4 bytes long"
        );
        require(
            bytes4(input[:SELECTOR]) == IPaymasterFlow.approvalBased.selector,
            "Unsupported paymaster flow"
        );
        (address token, uint256 amount, ) = abi.decode(input[SELECTOR:], (address, uint256, bytes));
        require(token == allowedToken, "Invalid token");
        require(amount >= PRICE, "Min allowance too low");
        // solhint-enable gas-custom-errors, reason-string
        address sender = address(uint160(transaction.from));
        if (!IERC20(token).transferFrom(sender, address(this), amount)) {
            revert FailedToTransferTokens(token, address(this), amount);
        }
    }
}
