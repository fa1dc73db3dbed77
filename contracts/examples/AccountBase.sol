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
    bytes32 private constant DOMAIN_TYPE = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    bytes32 private constant MESSAGE_TYPE = keccak256("AccountMessage(bytes32 hash)");
    bytes32 private constant NAME = keccak256("ExampleAccount");
    bytes32 private constant VERSION = keccak256("1");

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

    /// @notice Whether `signature` is the account's for a message (ERC-1271). What is signed is `replaySafeHash`.
    function isValidSignature(
        bytes32 hash,
        bytes calldata signature
    ) external view returns (bytes4) {
        bool isSigned = _isSigned(replaySafeHash(hash), signature);
        return isSigned ? this.isValidSignature.selector : bytes4(0);
    }

    /// @notice What has to be signed for the hash of a message: typed data `AccountMessage(bytes32 hash)` of this
    /// account on this chain. So a signature is not valid for another account of the same owners, on another chain,
    /// or for a transaction.
    function replaySafeHash(bytes32 hash) public view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(DOMAIN_TYPE, NAME, VERSION, block.chainid, address(this))
        );
        bytes32 message = keccak256(abi.encode(MESSAGE_TYPE, hash));
        return keccak256(abi.encodePacked(hex"1901", domain, message));
    }

    /// @dev Whether `signature` is the account's for `hash`.
    function _isSigned(bytes32 hash, bytes calldata signature) internal view virtual returns (bool);

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
