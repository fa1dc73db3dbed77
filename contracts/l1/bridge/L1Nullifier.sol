// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_ASSET_ROUTER, L2_BASE_TOKEN} from "../../shared/Addresses.sol";
import {DataEncoding} from "../../shared/DataEncoding.sol";
import {FinalizeL1DepositParams, L2Message, TxStatus} from "../../shared/Messaging.sol";
import {IBridgehub} from "../interfaces/IBridgehub.sol";
import {IL1AssetRouter} from "../interfaces/IL1AssetRouter.sol";
import {IL1NativeTokenVault} from "../interfaces/IL1NativeTokenVault.sol";
import {FailedDeposit, IL1Nullifier} from "../interfaces/IL1Nullifier.sol";
import {DepositHash} from "../libraries/DepositHash.sol";
import {WithdrawalMessage} from "../libraries/WithdrawalMessage.sol";
import {ReentrancyGuard} from "../ReentrancyGuard.sol";

/// @notice Checks proofs of withdrawals and of failed deposits, each of which is paid once.
contract L1Nullifier is IL1Nullifier, ReentrancyGuard {
    /// @notice The bridgehub.
    address public immutable BRIDGE_HUB;
    /// @notice The asset router, which pays what is proven here.
    address public immutable l1AssetRouter;
    /// @notice The vault that holds all deposits.
    address public immutable l1NativeTokenVault;
    /// @notice The legacy token bridge.
    address public immutable legacyBridge;

    /// @inheritdoc IL1Nullifier
    mapping(uint256 chainId => mapping(uint256 l2BatchNumber => mapping(uint256 l2MessageIndex => bool)))
        public isWithdrawalFinalized;
    /// @notice The hash of the deposit of an L2 transaction, until it is refunded.
    mapping(uint256 chainId => mapping(bytes32 l2TxHash => bytes32)) public depositHappened;

    error Unauthorized(address caller);
    error WithdrawalAlreadyFinalized();
    error WrongL2Sender(address expected, address actual);
    error InvalidProof();
    error DepositExists();
    error DepositDoesNotExist(bytes32 expected, bytes32 actual);
    error TokenNotRegistered(address token);

    constructor(
        address bridgehub,
        address assetRouter,
        address nativeTokenVault,
        address legacyBridge_
    ) {
        BRIDGE_HUB = bridgehub;
        l1AssetRouter = assetRouter;
        l1NativeTokenVault = nativeTokenVault;
        legacyBridge = legacyBridge_;
    }

    // --- Withdrawals ---

    /// @inheritdoc IL1Nullifier
    function finalizeDeposit(FinalizeL1DepositParams calldata params) external nonReentrant {
        mapping(uint256 index => bool) storage finalized = isWithdrawalFinalized[params.chainId][
            params.l2BatchNumber
        ];
        if (finalized[params.l2MessageIndex]) revert WithdrawalAlreadyFinalized();
        finalized[params.l2MessageIndex] = true;

        (address sender, bytes32 assetId, bytes memory transferData) = _read(params);
        bool isProven = IBridgehub(BRIDGE_HUB).proveL2MessageInclusion(
            params.chainId,
            params.l2BatchNumber,
            params.l2MessageIndex,
            L2Message({
                txNumberInBatch: params.l2TxNumberInBatch,
                sender: sender,
                data: params.message
            }),
            params.merkleProof
        );
        if (!isProven) revert InvalidProof();
        IL1AssetRouter(l1AssetRouter).finalizeDeposit(params.chainId, assetId, transferData);
    }

    /// @dev The sender that is to be proven. Clients that do not tell withdrawals of the base token
    /// from others give the asset router in either case.
    function _read(
        FinalizeL1DepositParams calldata params
    ) private view returns (address sender, bytes32 assetId, bytes memory transferData) {
        IBridgehub hub = IBridgehub(BRIDGE_HUB);
        (sender, assetId, transferData) = WithdrawalMessage.read(
            params.message,
            params.chainId,
            hub.L1_CHAIN_ID(),
            hub.baseTokenAssetId(params.chainId)
        );
        bool isRouter = sender == L2_BASE_TOKEN && params.l2Sender == L2_ASSET_ROUTER;
        if (sender != params.l2Sender && !isRouter) revert WrongL2Sender(sender, params.l2Sender);
    }

    // --- Failed deposits ---

    /// @inheritdoc IL1Nullifier
    function bridgehubConfirmL2TransactionForwarded(
        uint256 chainId,
        bytes32 txDataHash,
        bytes32 txHash
    ) external nonReentrant {
        if (msg.sender != l1AssetRouter) revert Unauthorized(msg.sender);
        if (depositHappened[chainId][txHash] != bytes32(0)) revert DepositExists();
        depositHappened[chainId][txHash] = txDataHash;
        emit BridgehubDepositFinalized(chainId, txDataHash, txHash);
    }

    /// @inheritdoc IL1Nullifier
    function bridgeRecoverFailedTransfer(
        uint256 chainId,
        address depositSender,
        bytes32 assetId,
        bytes calldata assetData,
        bytes32 l2TxHash,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes32[] calldata merkleProof
    ) external nonReentrant {
        FailedDeposit memory deposit;
        deposit.chainId = chainId;
        deposit.depositSender = depositSender;
        deposit.assetId = assetId;
        deposit.assetData = assetData;
        deposit.l2TxHash = l2TxHash;
        deposit.l2BatchNumber = l2BatchNumber;
        deposit.l2MessageIndex = l2MessageIndex;
        deposit.l2TxNumberInBatch = l2TxNumberInBatch;
        deposit.merkleProof = merkleProof;
        _recover(deposit);
    }

    /// @inheritdoc IL1Nullifier
    function claimFailedDeposit(
        uint256 chainId,
        address depositSender,
        address l1Token,
        uint256 amount,
        bytes32 l2TxHash,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes32[] calldata merkleProof
    ) external nonReentrant {
        FailedDeposit memory deposit;
        deposit.chainId = chainId;
        deposit.depositSender = depositSender;
        deposit.assetId = _assetOf(l1Token);
        deposit.assetData = DataEncoding.encodeBurn(amount, address(0), l1Token);
        deposit.l2TxHash = l2TxHash;
        deposit.l2BatchNumber = l2BatchNumber;
        deposit.l2MessageIndex = l2MessageIndex;
        deposit.l2TxNumberInBatch = l2TxNumberInBatch;
        deposit.merkleProof = merkleProof;
        _recover(deposit);
    }

    /// @notice The bridge on a chain, or zero for an unknown chain.
    function l2BridgeAddress(uint256 chainId) external view returns (address) {
        bool isKnown = IBridgehub(BRIDGE_HUB).getZKChain(chainId) != address(0);
        return isKnown ? L2_ASSET_ROUTER : address(0);
    }

    function _recover(FailedDeposit memory deposit) private {
        _checkDeposit(deposit);
        delete depositHappened[deposit.chainId][deposit.l2TxHash];
        bool isProven = IBridgehub(BRIDGE_HUB).proveL1ToL2TransactionStatus(
            deposit.chainId,
            deposit.l2TxHash,
            deposit.l2BatchNumber,
            deposit.l2MessageIndex,
            deposit.l2TxNumberInBatch,
            deposit.merkleProof,
            TxStatus.Failure
        );
        if (!isProven) revert InvalidProof();
        IL1AssetRouter(l1AssetRouter).bridgeRecoverFailedTransfer(
            deposit.chainId,
            deposit.depositSender,
            deposit.assetId,
            deposit.assetData
        );
    }

    /// @dev The deposit may have either hash; clients do not pass which encoding it was requested with.
    function _checkDeposit(FailedDeposit memory deposit) private view {
        bytes32 happened = depositHappened[deposit.chainId][deposit.l2TxHash];
        bytes32 name = DepositHash.hash(deposit.depositSender, deposit.assetId, deposit.assetData);
        if (happened != bytes32(0) && happened == name) return;
        address token = IL1NativeTokenVault(l1NativeTokenVault).tokenAddress(deposit.assetId);
        bytes32 legacy = DepositHash.legacyHash(deposit.depositSender, token, deposit.assetData);
        if (happened == bytes32(0) || happened != legacy)
            revert DepositDoesNotExist(happened, name);
    }

    function _assetOf(address token) private view returns (bytes32 assetId) {
        assetId = IL1NativeTokenVault(l1NativeTokenVault).assetId(token);
        if (assetId == bytes32(0)) revert TokenNotRegistered(token);
    }
}
