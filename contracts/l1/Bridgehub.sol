// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {ETH_TOKEN} from "../shared/Addresses.sol";
import {DataEncoding} from "../shared/DataEncoding.sol";
import {L2Log, L2Message, TxStatus} from "../shared/Messaging.sol";
import {
    IBridgehub,
    L2TransactionRequestDirect,
    L2TransactionRequestTwoBridgesInner,
    L2TransactionRequestTwoBridgesOuter
} from "./interfaces/IBridgehub.sol";
import {IL1AssetRouter, IL1CrossChainSender} from "./interfaces/IL1AssetRouter.sol";
import {IL1NativeTokenVault} from "./interfaces/IL1NativeTokenVault.sol";
import {BridgehubL2TransactionRequest, IMailbox} from "./interfaces/IMailbox.sol";
import {IMessageRoot} from "./interfaces/IMessageRoot.sol";
import {IZKChain} from "./interfaces/IZKChain.sol";
import {L2Account} from "./libraries/L2Account.sol";
import {Ownable} from "./Ownable.sol";
import {ReentrancyGuard} from "./ReentrancyGuard.sol";

/// @notice The registry of all chains: their contracts, requests to them, and proofs of their messages.
contract Bridgehub is IBridgehub, Ownable, ReentrancyGuard {
    bytes32 internal constant TWO_BRIDGES_MAGIC_VALUE = bytes32(
        uint256(keccak256("TWO_BRIDGES_MAGIC_VALUE")) - 1
    );
    /// @dev Lower addresses are reserved for system contracts on L2.
    address internal constant MIN_SECOND_BRIDGE = address(0x10000);

    /// @inheritdoc IBridgehub
    uint256 public immutable L1_CHAIN_ID;
    /// @inheritdoc IBridgehub
    address public immutable assetRouter;
    /// @notice The vault that holds all deposits.
    address public immutable nativeTokenVault;
    /// @inheritdoc IBridgehub
    address public immutable messageRoot;
    /// @inheritdoc IBridgehub
    address public immutable chainRegistrationSender;
    /// @notice The asset id of ether.
    bytes32 public immutable ETH_TOKEN_ASSET_ID;

    /// @inheritdoc IBridgehub
    mapping(uint256 chainId => address) public getZKChain;
    /// @inheritdoc IBridgehub
    mapping(uint256 chainId => address) public chainTypeManager;
    /// @inheritdoc IBridgehub
    mapping(uint256 chainId => bytes32) public baseTokenAssetId;
    /// @inheritdoc IBridgehub
    mapping(uint256 chainId => bool) public whitelistedSettlementLayers;
    uint256[] private _chainIds;

    error ChainIdNotRegistered(uint256 chainId);
    error InvalidChainId(uint256 chainId);
    error ChainIdAlreadyExists(uint256 chainId);
    error ChainIdMismatch(uint256 expected, uint256 actual);
    error AssetIdNotSupported(bytes32 assetId);
    error MsgValueMismatch(uint256 expected, uint256 actual);
    error AddressTooLow(address bridge);
    error WrongMagicValue(bytes32 expected, bytes32 actual);

    constructor(
        address owner_,
        address assetRouter_,
        address nativeTokenVault_,
        address messageRoot_,
        address chainRegistrationSender_
    ) Ownable(owner_) {
        L1_CHAIN_ID = block.chainid;
        assetRouter = assetRouter_;
        nativeTokenVault = nativeTokenVault_;
        messageRoot = messageRoot_;
        chainRegistrationSender = chainRegistrationSender_;
        ETH_TOKEN_ASSET_ID = DataEncoding.assetId(block.chainid, ETH_TOKEN);
    }

    // --- Chains ---

    /// @notice Register a chain, whose contract is deployed with this bridgehub.
    /// @param genesisBatchHash The hash of the chain's batch 0 as `StoredBatchInfo`.
    function registerChain(
        uint256 chainId,
        address chainTypeManager_,
        address zkChain,
        bytes32 baseTokenAssetId_,
        bytes32 genesisBatchHash
    ) external onlyOwner nonReentrant {
        if (chainId == 0 || chainId == block.chainid) revert InvalidChainId(chainId);
        if (getZKChain[chainId] != address(0)) revert ChainIdAlreadyExists(chainId);
        uint256 actual = IZKChain(zkChain).getChainId();
        if (actual != chainId) revert ChainIdMismatch(chainId, actual);
        // Only a token of this chain: of that of an L2, the L2 may send any amount here.
        uint256 origin = IL1NativeTokenVault(nativeTokenVault).originChainId(baseTokenAssetId_);
        if (origin != block.chainid) revert AssetIdNotSupported(baseTokenAssetId_);

        getZKChain[chainId] = zkChain;
        chainTypeManager[chainId] = chainTypeManager_;
        baseTokenAssetId[chainId] = baseTokenAssetId_;
        _chainIds.push(chainId);
        emit NewChain(chainId, chainTypeManager_, IZKChain(zkChain).getAdmin());
        IZKChain(zkChain).initialize(baseTokenAssetId_, genesisBatchHash);
        IMessageRoot(messageRoot).addNewChain(chainId);
    }

    /// @notice Allow or forbid a chain as a settlement layer in proofs.
    function registerSettlementLayer(uint256 chainId, bool isWhitelisted) external onlyOwner {
        _chain(chainId);
        whitelistedSettlementLayers[chainId] = isWhitelisted;
        emit SettlementLayerRegistered(chainId, isWhitelisted);
    }

    /// @inheritdoc IBridgehub
    function getHyperchain(uint256 chainId) external view returns (address) {
        return getZKChain[chainId];
    }

    /// @inheritdoc IBridgehub
    function getAllZKChainChainIDs() external view returns (uint256[] memory) {
        return _chainIds;
    }

    /// @inheritdoc IBridgehub
    function sharedBridge() external view returns (address) {
        return assetRouter;
    }

    /// @inheritdoc IBridgehub
    function baseToken(uint256 chainId) external view returns (address) {
        return IL1NativeTokenVault(nativeTokenVault).tokenAddress(baseTokenAssetId[chainId]);
    }

    // --- Requests ---

    /// @inheritdoc IBridgehub
    function l2TransactionBaseCost(
        uint256 chainId,
        uint256 gasPrice,
        uint256 l2GasLimit,
        uint256 l2GasPerPubdataByteLimit
    ) external view returns (uint256) {
        return
            _chain(chainId).l2TransactionBaseCost(gasPrice, l2GasLimit, l2GasPerPubdataByteLimit);
    }

    /// @inheritdoc IBridgehub
    function requestL2TransactionDirect(
        L2TransactionRequestDirect calldata request
    ) external payable nonReentrant returns (bytes32 canonicalTxHash) {
        IMailbox chain = _chain(request.chainId);
        _collect(request.chainId, request.mintValue, 0);
        canonicalTxHash = chain.bridgehubRequestL2Transaction(
            BridgehubL2TransactionRequest({
                sender: msg.sender,
                contractL2: request.l2Contract,
                mintValue: request.mintValue,
                l2Value: request.l2Value,
                l2Calldata: request.l2Calldata,
                l2GasLimit: request.l2GasLimit,
                l2GasPerPubdataByteLimit: request.l2GasPerPubdataByteLimit,
                factoryDeps: request.factoryDeps,
                refundRecipient: L2Account.ofRecipient(request.refundRecipient, msg.sender)
            })
        );
    }

    /// @inheritdoc IBridgehub
    function requestL2TransactionTwoBridges(
        L2TransactionRequestTwoBridgesOuter calldata request
    ) external payable nonReentrant returns (bytes32 canonicalTxHash) {
        IMailbox chain = _chain(request.chainId);
        if (request.secondBridgeAddress < MIN_SECOND_BRIDGE) {
            revert AddressTooLow(request.secondBridgeAddress);
        }
        _collect(request.chainId, request.mintValue, request.secondBridgeValue);

        IL1CrossChainSender bridge = IL1CrossChainSender(request.secondBridgeAddress);
        L2TransactionRequestTwoBridgesInner memory inner = bridge.bridgehubDeposit{
            value: request.secondBridgeValue
        }(request.chainId, msg.sender, request.l2Value, request.secondBridgeCalldata);
        if (inner.magicValue != TWO_BRIDGES_MAGIC_VALUE) {
            revert WrongMagicValue(TWO_BRIDGES_MAGIC_VALUE, inner.magicValue);
        }
        canonicalTxHash = chain.bridgehubRequestL2Transaction(
            BridgehubL2TransactionRequest({
                sender: request.secondBridgeAddress,
                contractL2: inner.l2Contract,
                mintValue: request.mintValue,
                l2Value: request.l2Value,
                l2Calldata: inner.l2Calldata,
                l2GasLimit: request.l2GasLimit,
                l2GasPerPubdataByteLimit: request.l2GasPerPubdataByteLimit,
                factoryDeps: inner.factoryDeps,
                refundRecipient: L2Account.ofRecipient(request.refundRecipient, msg.sender)
            })
        );
        bridge.bridgehubConfirmL2Transaction(request.chainId, inner.txDataHash, canonicalTxHash);
    }

    // --- Proofs ---

    /// @inheritdoc IBridgehub
    function proveL2MessageInclusion(
        uint256 chainId,
        uint256 batchNumber,
        uint256 index,
        L2Message calldata message,
        bytes32[] calldata proof
    ) external view returns (bool) {
        return _chain(chainId).proveL2MessageInclusion(batchNumber, index, message, proof);
    }

    /// @inheritdoc IBridgehub
    function proveL2LogInclusion(
        uint256 chainId,
        uint256 batchNumber,
        uint256 index,
        L2Log calldata log,
        bytes32[] calldata proof
    ) external view returns (bool) {
        return _chain(chainId).proveL2LogInclusion(batchNumber, index, log, proof);
    }

    /// @inheritdoc IBridgehub
    function proveL1ToL2TransactionStatus(
        uint256 chainId,
        bytes32 l2TxHash,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes32[] calldata merkleProof,
        TxStatus status
    ) external view returns (bool) {
        return
            _chain(chainId).proveL1ToL2TransactionStatus(
                l2TxHash,
                l2BatchNumber,
                l2MessageIndex,
                l2TxNumberInBatch,
                merkleProof,
                status
            );
    }

    /// @dev `msg.value` pays for the base token, if that is ether, and for the second bridge.
    function _collect(uint256 chainId, uint256 mintValue, uint256 secondBridgeValue) private {
        bytes32 assetId = baseTokenAssetId[chainId];
        uint256 value = assetId == ETH_TOKEN_ASSET_ID ? mintValue : 0;
        if (msg.value != value + secondBridgeValue) {
            revert MsgValueMismatch(value + secondBridgeValue, msg.value);
        }
        IL1AssetRouter(assetRouter).bridgehubDepositBaseToken{value: value}(
            chainId,
            assetId,
            msg.sender,
            mintValue
        );
    }

    function _chain(uint256 chainId) private view returns (IMailbox) {
        address chain = getZKChain[chainId];
        if (chain == address(0)) revert ChainIdNotRegistered(chainId);
        return IMailbox(chain);
    }
}
