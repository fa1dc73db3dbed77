// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {BOOTLOADER, L2_DEPLOYER, L2_NONCE_HOLDER} from "../shared/Addresses.sol";
import {IERC20} from "../shared/IERC20.sol";
import {IAccount, Transaction} from "../l2/interfaces/IAccount.sol";
import {IContractDeployer} from "../l2/interfaces/IContractDeployer.sol";
import {INonceHolder} from "../l2/interfaces/INonceHolder.sol";
import {IPaymasterFlow} from "../l2/interfaces/IPaymaster.sol";

/// @notice What all example accounts do alike: they pay, approve and execute; each judges signatures in its own way.
abstract contract AccountBase is IAccount {
    uint256 internal constant SIGNATURE = 65;
    uint256 private constant SELECTOR = 4;

    error Unauthorized(address caller);
    error FailedToPayOperator();
    error FailedToApprove(address token);
    error UnsupportedPaymasterFlow();
    error OnlyThroughTheNode();

    modifier onlyBootloader() {
        if (msg.sender != BOOTLOADER) revert Unauthorized(msg.sender);
        _;
    }

    constructor() {
        IContractDeployer(L2_DEPLOYER).updateAccountVersion(1);
    }

    /// @notice Accept ether.
    receive() external payable {}

    /// @inheritdoc IAccount
    function validateTransaction(
        bytes32,
        bytes32 suggestedSignedHash,
        Transaction calldata transaction
    ) external payable onlyBootloader returns (bytes4 magic) {
        INonceHolder(L2_NONCE_HOLDER).incrementMinNonceIfEquals(transaction.nonce);
        if (_agrees(suggestedSignedHash, transaction)) {
            magic = IAccount.validateTransaction.selector;
        }
    }

    /// @inheritdoc IAccount
    function payForTransaction(
        bytes32,
        bytes32,
        Transaction calldata transaction
    ) external payable onlyBootloader {
        uint256 fee = transaction.gasLimit * transaction.maxFeePerGas;
        (bool isPaid, ) = BOOTLOADER.call{value: fee}("");
        if (!isPaid) revert FailedToPayOperator();
    }

    /// @inheritdoc IAccount
    function prepareForPaymaster(
        bytes32,
        bytes32,
        Transaction calldata transaction
    ) external payable onlyBootloader {
        bytes4 flow = bytes4(transaction.paymasterInput[:SELECTOR]);
        if (flow == IPaymasterFlow.general.selector) return;
        if (flow != IPaymasterFlow.approvalBased.selector) revert UnsupportedPaymasterFlow();
        (address token, uint256 amount, ) = abi.decode(
            transaction.paymasterInput[SELECTOR:],
            (address, uint256, bytes)
        );
        address paymaster = address(uint160(transaction.paymaster));
        if (IERC20(token).allowance(address(this), paymaster) >= amount) return;
        if (!IERC20(token).approve(paymaster, amount)) revert FailedToApprove(token);
    }

    /// @inheritdoc IAccount
    function executeTransaction(
        bytes32,
        bytes32,
        Transaction calldata transaction
    ) external payable onlyBootloader {
        address target = address(uint160(transaction.to));
        (bool isSuccess, bytes memory output) = target.call{value: transaction.value}(
            transaction.data
        );
        if (isSuccess) return;
        assembly ("memory-safe") {
            revert(add(0x20, output), mload(output))
        }
    }

    /// @inheritdoc IAccount
    function executeTransactionFromOutside(Transaction calldata) external payable {
        revert OnlyThroughTheNode();
    }

    /// @dev Whether the account agrees to a transaction; without a signature it may cost what it costs with one.
    function _agrees(
        bytes32 suggestedSignedHash,
        Transaction calldata transaction
    ) internal virtual returns (bool);

    /// @dev The key that has signed, or zero. A signature of another size or with the other `s` is none.
    function _signer(bytes32 hash, bytes memory signature) internal pure returns (address) {
        if (signature.length != SIGNATURE) return address(0);
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly ("memory-safe") {
            r := mload(add(signature, 0x20))
            s := mload(add(signature, 0x40))
            v := byte(0, mload(add(signature, 0x60)))
        }
        address signer = ecrecover(hash, v, r, s);
        bool isLow =
            uint256(s) <= 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;
        return isLow ? signer : address(0);
    }
}
