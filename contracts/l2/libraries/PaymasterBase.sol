// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {BOOTLOADER} from "../../shared/Addresses.sol";
import {Transaction} from "../interfaces/IAccount.sol";
import {ExecutionResult, IPaymaster, IPaymasterFlow} from "../interfaces/IPaymaster.sol";

/// @notice What all paymasters do alike: only the bootloader calls them, and they pay; each chooses its transactions.
abstract contract PaymasterBase is IPaymaster {
    uint256 private constant SELECTOR = 4;

    error Unauthorized(address caller);
    error InvalidInput();
    error UnsupportedPaymasterFlow();
    error FailedToTransferTokens(address token, address to, uint256 amount);

    /// @notice Accept ether, from which fees are paid.
    receive() external payable {}

    /// @inheritdoc IPaymaster
    function validateAndPayForPaymasterTransaction(
        bytes32,
        bytes32,
        Transaction calldata transaction
    ) external payable returns (bytes4 magic, bytes memory context) {
        if (msg.sender != BOOTLOADER) revert Unauthorized(msg.sender);
        uint256 fee = transaction.gasLimit * transaction.maxFeePerGas;
        // An estimate ignores a zero, which a revert would end.
        if (_agrees(transaction, fee)) {
            magic = IPaymaster.validateAndPayForPaymasterTransaction.selector;
        }
        (bool isPaid, ) = BOOTLOADER.call{value: fee}("");
        if (!isPaid) revert FailedToTransferTokens(address(0), BOOTLOADER, fee);
        context = "";
    }

    /// @inheritdoc IPaymaster
    function postTransaction(
        bytes calldata,
        Transaction calldata,
        bytes32,
        bytes32,
        ExecutionResult,
        uint256
    ) external payable virtual {
        // Nothing is given back: the price does not depend on the gas that was used.
    }

    /// @dev Whether it pays for a transaction, whose fee is at most `fee`; it may take the price here.
    function _agrees(Transaction calldata transaction, uint256 fee) internal virtual returns (bool);

    /// @dev The flow that the sender has chosen.
    function _flow(Transaction calldata transaction) internal pure returns (bytes4) {
        if (transaction.paymasterInput.length < SELECTOR) revert InvalidInput();
        return bytes4(transaction.paymasterInput[:SELECTOR]);
    }

    /// @dev What the sender offers in the flow `approvalBased`.
    function _offer(
        Transaction calldata transaction
    ) internal pure returns (address token, uint256 amount) {
        if (_flow(transaction) != IPaymasterFlow.approvalBased.selector) {
            revert UnsupportedPaymasterFlow();
        }
        (token, amount, ) = abi.decode(
            transaction.paymasterInput[SELECTOR:],
            (address, uint256, bytes)
        );
    }

    /// @dev The sender as an address.
    function _sender(Transaction calldata transaction) internal pure returns (address) {
        return address(uint160(transaction.from));
    }
}
