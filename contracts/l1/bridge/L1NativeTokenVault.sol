// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {ETH_TOKEN} from "../../shared/Addresses.sol";
import {Amounts} from "../../shared/Amounts.sol";
import {DataEncoding} from "../../shared/DataEncoding.sol";
import {IERC20} from "../../shared/IERC20.sol";
import {TokenMetadata} from "../../shared/TokenMetadata.sol";
import {IInteropVault} from "../interfaces/IInteropVault.sol";
import {IL1AssetRouter} from "../interfaces/IL1AssetRouter.sol";
import {IL1NativeTokenVault} from "../interfaces/IL1NativeTokenVault.sol";
import {SafeTransfer} from "../libraries/SafeTransfer.sol";
import {ReentrancyGuard} from "../ReentrancyGuard.sol";
import {L1BridgedToken} from "./L1BridgedToken.sol";

/// @notice The vault that holds all deposits of tokens and ether, with a balance for each chain, so that no
/// chain can withdraw the deposits of another. For tokens of an L2 it deploys bridged tokens, which it mints on
/// withdrawal and burns on deposit.
contract L1NativeTokenVault is IL1NativeTokenVault, IInteropVault, ReentrancyGuard {
    /// @inheritdoc IL1NativeTokenVault
    address public constant WETH_TOKEN = address(0);
    /// @notice The asset router, which alone may collect and pay.
    address public immutable ASSET_ROUTER;
    /// @notice The message root, which alone may book what chains send to each other.
    address public immutable MESSAGE_ROOT;
    /// @notice The id of the chain of this contract.
    uint256 public immutable L1_CHAIN_ID;
    /// @notice The asset id of ether.
    bytes32 public immutable BASE_TOKEN_ASSET_ID;

    /// @inheritdoc IL1NativeTokenVault
    mapping(address token => bytes32) public assetId;
    /// @inheritdoc IL1NativeTokenVault
    mapping(bytes32 assetId => address) public tokenAddress;
    /// @inheritdoc IL1NativeTokenVault
    mapping(bytes32 assetId => uint256) public originChainId;
    /// @inheritdoc IL1NativeTokenVault
    mapping(uint256 chainId => mapping(bytes32 assetId => uint256)) public chainBalance;
    /// @notice Zero, except on a fork: bridged tokens that the vault of the copied chain deployed keep their addresses,
    /// so those of this one need others. No function changes it.
    bytes32 public BRIDGED_TOKEN_SALT;

    error Unauthorized(address caller);
    error TokenAlreadyRegistered(address token);
    error NotAToken(address token);
    error AssetIdMismatch(bytes32 expected, bytes32 actual);
    error AssetIdNotSupported(bytes32 assetId);
    error TokenMismatch(address expected, address actual);
    error EmptyDeposit();
    error EmptyWithdrawal();
    error ValueMismatch(uint256 expected, uint256 actual);
    error NonEmptyMsgValue();
    error TokensWithFeesNotSupported();
    error InsufficientChainBalance(uint256 chainId, bytes32 assetId, uint256 balance);
    error WithdrawFailed(address receiver);
    error InteropValueNotCovered(
        uint256 chainId,
        uint256 batchNumber,
        bytes32 assetId,
        uint256 missing
    );

    modifier onlyAssetRouter() {
        if (msg.sender != ASSET_ROUTER) revert Unauthorized(msg.sender);
        _;
    }

    modifier onlyMessageRoot() {
        if (msg.sender != MESSAGE_ROOT) revert Unauthorized(msg.sender);
        _;
    }

    constructor(address assetRouter, address messageRoot) {
        ASSET_ROUTER = assetRouter;
        MESSAGE_ROOT = messageRoot;
        L1_CHAIN_ID = block.chainid;
        BASE_TOKEN_ASSET_ID = _register(ETH_TOKEN);
    }

    // --- Tokens ---

    /// @inheritdoc IL1NativeTokenVault
    function registerToken(address token) external {
        if (assetId[token] != bytes32(0)) revert TokenAlreadyRegistered(token);
        ensureTokenIsRegistered(token);
    }

    /// @inheritdoc IL1NativeTokenVault
    function ensureTokenIsRegistered(address token) public returns (bytes32) {
        bytes32 known = assetId[token];
        if (known != bytes32(0)) return known;
        if (token.code.length == 0) revert NotAToken(token);
        return _register(token);
    }

    /// @inheritdoc IL1NativeTokenVault
    function tryRegisterTokenFromBurnData(
        bytes calldata burnData,
        bytes32 expectedAssetId
    ) external {
        (, , address token) = DataEncoding.decodeBurn(burnData);
        bytes32 actual = ensureTokenIsRegistered(token);
        if (actual != expectedAssetId) revert AssetIdMismatch(expectedAssetId, actual);
    }

    /// @inheritdoc IL1NativeTokenVault
    function getERC20Getters(
        address token,
        uint256 originChainId_
    ) external view returns (bytes memory) {
        return TokenMetadata.describe(token, originChainId_);
    }

    // --- Collecting ---

    /// @inheritdoc IL1NativeTokenVault
    function bridgeBurn(
        uint256 chainId,
        uint256 l2Value,
        bytes32 assetId_,
        address originalCaller,
        bytes calldata data
    ) external payable onlyAssetRouter nonReentrant returns (bytes memory) {
        // The router on L2 accepts no ether: the deposit would be collected here, and fail there.
        if (l2Value != 0) revert NonEmptyMsgValue();
        address token = _tokenOf(assetId_);
        (uint256 amount, address receiver, address requested) = DataEncoding.decodeBurn(data);
        if (requested != address(0) && requested != token) revert TokenMismatch(token, requested);
        if (amount == 0) revert EmptyDeposit();
        Amounts.check(amount);

        _collect(token, assetId_, originalCaller, amount);
        uint256 origin = originChainId[assetId_];
        if (chainId != origin) chainBalance[chainId][assetId_] += amount;
        emit BridgeBurn(chainId, assetId_, originalCaller, receiver, amount);
        return
            DataEncoding.encodeMint(
                originalCaller,
                receiver,
                origin == L1_CHAIN_ID ? token : L1BridgedToken(token).originToken(),
                amount,
                TokenMetadata.describe(token, origin)
            );
    }

    // --- Paying ---

    /// @inheritdoc IL1NativeTokenVault
    function bridgeMint(
        uint256 chainId,
        bytes32 assetId_,
        bytes calldata data
    ) external payable onlyAssetRouter nonReentrant {
        if (msg.value != 0) revert NonEmptyMsgValue();
        (, address receiver, address origin, uint256 amount, ) = DataEncoding.decodeMint(data);
        // The first withdrawal of a token names it: not by a chain that has nothing of it.
        if (amount == 0) revert EmptyWithdrawal();
        if (tokenAddress[assetId_] == address(0))
            _deployBridgedToken(chainId, assetId_, origin, data);
        _pay(chainId, assetId_, receiver, amount);
        emit BridgeMint(chainId, assetId_, receiver, amount);
    }

    /// @inheritdoc IL1NativeTokenVault
    function bridgeRecoverFailedTransfer(
        uint256 chainId,
        bytes32 assetId_,
        address depositSender,
        bytes calldata data
    ) external payable onlyAssetRouter nonReentrant {
        if (msg.value != 0) revert NonEmptyMsgValue();
        (uint256 amount, , ) = DataEncoding.decodeBurn(data);
        _pay(chainId, assetId_, depositSender, amount);
    }

    // --- Between chains ---

    /// @inheritdoc IInteropVault
    function moveChainBalance(
        uint256 source,
        uint256 destination,
        uint256 batchNumber,
        bytes32 assetId_,
        uint256 amount
    ) external onlyMessageRoot {
        Amounts.check(amount);
        uint256 origin = originChainId[assetId_];
        if (source != origin) {
            uint256 balance = chainBalance[source][assetId_];
            if (balance < amount) {
                revert InteropValueNotCovered(source, batchNumber, assetId_, amount - balance);
            }
            chainBalance[source][assetId_] = balance - amount;
        }
        if (destination != origin) chainBalance[destination][assetId_] += amount;
    }

    /// @inheritdoc IInteropVault
    function ensureAssetOfChain(
        uint256 chainId,
        bytes32 assetId_,
        bytes calldata transferData
    ) external onlyMessageRoot returns (uint256 amount) {
        address origin;
        (, , origin, amount, ) = DataEncoding.decodeMint(transferData);
        if (originChainId[assetId_] != 0) return amount;
        if (assetId_ != DataEncoding.assetId(chainId, origin)) revert AssetIdNotSupported(assetId_);
        // Its first withdrawal deploys the token here: a batch with many new ones could not pay for all of them.
        originChainId[assetId_] = chainId;
    }

    function _register(address token) private returns (bytes32 id) {
        id = DataEncoding.assetId(block.chainid, token);
        _store(id, token, block.chainid);
    }

    function _store(bytes32 id, address token, uint256 origin) private {
        assetId[token] = id;
        tokenAddress[id] = token;
        originChainId[id] = origin;
        emit TokenRegistered(id, token);
    }

    /// @dev Only the origin chain of a token can bridge it for the first time, by a withdrawal or by a bundle: no other
    /// one can mint it. The metadata are those of the first withdrawal, from whichever chain that holds the token.
    function _deployBridgedToken(
        uint256 chainId,
        bytes32 assetId_,
        address origin,
        bytes calldata data
    ) private {
        uint256 known = originChainId[assetId_];
        if (known != 0) chainId = known;
        if (assetId_ != DataEncoding.assetId(chainId, origin)) revert AssetIdNotSupported(assetId_);
        (, bytes memory name, bytes memory symbol, bytes memory decimals) = DataEncoding
            .decodeTokenData(_metadataOf(data));
        L1BridgedToken token = new L1BridgedToken{salt: assetId_ ^ BRIDGED_TOKEN_SALT}(
            assetId_,
            origin,
            TokenMetadata.limit(name),
            TokenMetadata.limit(symbol),
            TokenMetadata.limit(decimals)
        );
        _store(assetId_, address(token), chainId);
    }

    /// @dev The fifth argument, as calldata, because only that can be sliced.
    function _metadataOf(bytes calldata data) private pure returns (bytes calldata) {
        uint256 offset = uint256(bytes32(data[128:160]));
        uint256 length = uint256(bytes32(data[offset:offset + 32]));
        return data[offset + 32:offset + 32 + length];
    }

    function _collect(address token, bytes32 assetId_, address from, uint256 amount) private {
        if (token == ETH_TOKEN) {
            if (msg.value != amount) revert ValueMismatch(amount, msg.value);
            return;
        }
        if (msg.value != 0) revert NonEmptyMsgValue();
        if (originChainId[assetId_] == L1_CHAIN_ID) {
            _pull(token, assetId_, from, amount);
        } else {
            L1BridgedToken(token).bridgeBurn(from, amount);
        }
    }

    /// @dev Depositors approve either the router or this contract.
    function _pull(address token, bytes32 assetId_, address from, uint256 amount) private {
        uint256 before = IERC20(token).balanceOf(address(this));
        if (!IL1AssetRouter(ASSET_ROUTER).transferFundsToNTV(assetId_, amount, from)) {
            SafeTransfer.transferFrom(token, from, address(this), amount);
        }
        uint256 received = IERC20(token).balanceOf(address(this)) - before;
        if (received != amount) revert TokensWithFeesNotSupported();
    }

    function _pay(uint256 chainId, bytes32 assetId_, address receiver, uint256 amount) private {
        address token = _tokenOf(assetId_);
        uint256 origin = originChainId[assetId_];
        if (chainId != origin) {
            uint256 balance = chainBalance[chainId][assetId_];
            if (balance < amount) revert InsufficientChainBalance(chainId, assetId_, balance);
            chainBalance[chainId][assetId_] = balance - amount;
        }
        if (token == ETH_TOKEN) {
            (bool success, ) = receiver.call{value: amount}("");
            if (!success) revert WithdrawFailed(receiver);
        } else if (origin == L1_CHAIN_ID) {
            SafeTransfer.transfer(token, receiver, amount);
        } else {
            L1BridgedToken(token).bridgeMint(receiver, amount);
        }
    }

    function _tokenOf(bytes32 assetId_) private view returns (address token) {
        token = tokenAddress[assetId_];
        if (token == address(0)) revert AssetIdNotSupported(assetId_);
    }
}
