// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {BOOTLOADER} from "../shared/Addresses.sol";
import {IERC20} from "../shared/IERC20.sol";
import {Transaction} from "./interfaces/IAccount.sol";
import {ExecutionResult, IPaymaster, IPaymasterFlow} from "./interfaces/IPaymaster.sol";

/// @notice Pays the fees of everybody on a development chain: for one unit of any token a wei, or for nothing.
/// @dev In `approvalBased` it behaves as the paymaster of the public testnets; `general` is free.
contract TestnetPaymaster is IPaymaster {
    uint256 private constant SELECTOR = 4;

    error Unauthorized(address caller);
    error InvalidInput();
    error UnsupportedPaymasterFlow();
    error InsufficientAllowance(uint256 provided, uint256 required);
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
        if (transaction.paymasterInput.length < SELECTOR) revert InvalidInput();
        uint256 fee = transaction.gasLimit * transaction.maxFeePerGas;
        magic = IPaymaster.validateAndPayForPaymasterTransaction.selector;
        bytes4 flow = bytes4(transaction.paymasterInput[:SELECTOR]);
        if (flow == IPaymasterFlow.approvalBased.selector) {
            // An estimate ignores it, which a revert would end.
            if (_takeTokens(transaction) < fee) magic = bytes4(0);
        } else if (flow != IPaymasterFlow.general.selector) {
            revert UnsupportedPaymasterFlow();
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
    ) external payable {
        // Nothing is given back: the tokens were the price of the whole limit.
    }

    /// @dev Takes what the sender offers.
    function _takeTokens(Transaction calldata transaction) private returns (uint256 amount) {
        address token;
        (token, amount, ) = abi.decode(
            transaction.paymasterInput[SELECTOR:],
            (address, uint256, bytes)
        );
        address sender = address(uint160(transaction.from));
        uint256 provided = IERC20(token).allowance(sender, address(this));
        if (provided < amount) revert InsufficientAllowance(provided, amount);
        try IERC20(token).transferFrom(sender, address(this), amount) {} catch (
            bytes memory reason
        ) {
            if (reason.length <= SELECTOR) {
                revert FailedToTransferTokens(token, address(this), amount);
            }
            assembly ("memory-safe") {
                revert(add(0x20, reason), mload(reason))
            }
        }
    }
}
