// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_ASSET_ROUTER} from "../../shared/Addresses.sol";
import {IERC20} from "../../shared/IERC20.sol";
import {FinalizeL1DepositParams} from "../../shared/Messaging.sol";
import {IBridgehub, L2TransactionRequestTwoBridgesOuter} from "../interfaces/IBridgehub.sol";
import {IL1AssetRouter} from "../interfaces/IL1AssetRouter.sol";
import {IL1Nullifier} from "../interfaces/IL1Nullifier.sol";
import {L2Account} from "../libraries/L2Account.sol";
import {SafeTransfer} from "../libraries/SafeTransfer.sol";
import {ReentrancyGuard} from "../ReentrancyGuard.sol";

/// @notice The legacy token bridge, for clients that use its functions. It serves one chain, which its functions
/// do not take as an argument, and has tokens only during a deposit.
contract L1ERC20Bridge is ReentrancyGuard {
    /// @notice The nullifier, which records what was paid.
    address public immutable L1_NULLIFIER;
    /// @notice The asset router, which replaces this bridge.
    address public immutable L1_ASSET_ROUTER;
    /// @notice The id of the chain that this bridge serves.
    uint256 public immutable CHAIN_ID;

    /// @notice The amount of a deposit through this bridge, until it is refunded through it.
    mapping(address account => mapping(address l1Token => mapping(bytes32 depositL2TxHash => uint256)))
        public depositAmount;

    /// @notice A deposit was requested.
    event DepositInitiated(
        bytes32 indexed l2DepositTxHash,
        address indexed from,
        address indexed to,
        address l1Token,
        uint256 amount
    );
    /// @notice A failed deposit was refunded.
    event ClaimedFailedDeposit(address indexed to, address indexed l1Token, uint256 amount);

    error EmptyDeposit();
    error TokensWithFeesNotSupported();

    constructor(address nullifier, address assetRouter, uint256 chainId) {
        L1_NULLIFIER = nullifier;
        L1_ASSET_ROUTER = assetRouter;
        CHAIN_ID = chainId;
    }

    /// @notice The bridge on L2.
    function l2Bridge() external pure returns (address) {
        return L2_ASSET_ROUTER;
    }

    /// @notice The asset router, under its former name.
    function SHARED_BRIDGE() external view returns (address) {
        return L1_ASSET_ROUTER;
    }

    // --- Deposits ---

    /// @notice Deposit a token by an allowance for this contract, and refund unused gas to the caller.
    function deposit(
        address l2Receiver,
        address l1Token,
        uint256 amount,
        uint256 l2TxGasLimit,
        uint256 l2TxGasPerPubdataByte
    ) external payable returns (bytes32) {
        return
            deposit(l2Receiver, l1Token, amount, l2TxGasLimit, l2TxGasPerPubdataByte, address(0));
    }

    /// @notice Deposit a token by an allowance for this contract; the value of the call pays for gas on L2.
    /// @return l2TxHash The hash of the deposit's transaction on L2.
    function deposit(
        address l2Receiver,
        address l1Token,
        uint256 amount,
        uint256 l2TxGasLimit,
        uint256 l2TxGasPerPubdataByte,
        address refundRecipient
    ) public payable nonReentrant returns (bytes32 l2TxHash) {
        if (amount == 0) revert EmptyDeposit();
        _collect(l1Token, amount);
        L2TransactionRequestTwoBridgesOuter memory request;
        request.chainId = CHAIN_ID;
        request.mintValue = msg.value;
        request.l2GasLimit = l2TxGasLimit;
        request.l2GasPerPubdataByteLimit = l2TxGasPerPubdataByte;
        // To the bridgehub this contract is the sender, but the refund is the depositor's.
        request.refundRecipient = L2Account.ofRecipient(refundRecipient, msg.sender);
        request.secondBridgeAddress = L1_ASSET_ROUTER;
        request.secondBridgeCalldata = abi.encode(l1Token, amount, l2Receiver, msg.sender);
        address bridgehub = IL1AssetRouter(L1_ASSET_ROUTER).BRIDGE_HUB();
        l2TxHash = IBridgehub(bridgehub).requestL2TransactionTwoBridges{value: msg.value}(request);
        depositAmount[msg.sender][l1Token][l2TxHash] = amount;
        emit DepositInitiated(l2TxHash, msg.sender, l2Receiver, l1Token, amount);
    }

    /// @notice Refund a deposit through this bridge that is proven to have failed on L2.
    function claimFailedDeposit(
        address depositSender,
        address l1Token,
        bytes32 l2TxHash,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes32[] calldata merkleProof
    ) external nonReentrant {
        uint256 amount = depositAmount[depositSender][l1Token][l2TxHash];
        if (amount == 0) revert EmptyDeposit();
        delete depositAmount[depositSender][l1Token][l2TxHash];
        IL1Nullifier(L1_NULLIFIER).claimFailedDeposit(
            CHAIN_ID,
            depositSender,
            l1Token,
            amount,
            l2TxHash,
            l2BatchNumber,
            l2MessageIndex,
            l2TxNumberInBatch,
            merkleProof
        );
        emit ClaimedFailedDeposit(depositSender, l1Token, amount);
    }

    // --- Withdrawals ---

    /// @notice Whether a withdrawal was finalized.
    function isWithdrawalFinalized(
        uint256 l2BatchNumber,
        uint256 l2MessageIndex
    ) external view returns (bool) {
        return
            IL1Nullifier(L1_NULLIFIER).isWithdrawalFinalized(
                CHAIN_ID,
                l2BatchNumber,
                l2MessageIndex
            );
    }

    /// @notice Finalize a withdrawal of a token.
    function finalizeWithdrawal(
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes calldata message,
        bytes32[] calldata merkleProof
    ) external {
        FinalizeL1DepositParams memory params;
        params.chainId = CHAIN_ID;
        params.l2BatchNumber = l2BatchNumber;
        params.l2MessageIndex = l2MessageIndex;
        params.l2Sender = L2_ASSET_ROUTER;
        params.l2TxNumberInBatch = l2TxNumberInBatch;
        params.message = message;
        params.merkleProof = merkleProof;
        IL1Nullifier(L1_NULLIFIER).finalizeDeposit(params);
    }

    /// @dev Takes the caller's tokens, and lets the router take them from here.
    function _collect(address token, uint256 amount) private {
        uint256 before = token.code.length == 0 ? 0 : IERC20(token).balanceOf(address(this));
        SafeTransfer.transferFrom(token, msg.sender, address(this), amount);
        if (IERC20(token).balanceOf(address(this)) - before != amount) {
            revert TokensWithFeesNotSupported();
        }
        SafeTransfer.approve(token, L1_ASSET_ROUTER, amount);
    }
}
