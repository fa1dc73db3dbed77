// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {ETH_TOKEN, L2_ASSET_ROUTER} from "../../shared/Addresses.sol";
import {DataEncoding} from "../../shared/DataEncoding.sol";
import {IAssetRouterBase} from "../../shared/IAssetRouterBase.sol";
import {IERC20} from "../../shared/IERC20.sol";
import {FinalizeL1DepositParams} from "../../shared/Messaging.sol";
import {IBridgehub, L2TransactionRequestTwoBridgesInner} from "../interfaces/IBridgehub.sol";
import {IL1AssetRouter, IL1CrossChainSender} from "../interfaces/IL1AssetRouter.sol";
import {IL1NativeTokenVault} from "../interfaces/IL1NativeTokenVault.sol";
import {IL1Nullifier} from "../interfaces/IL1Nullifier.sol";
import {DepositHash} from "../libraries/DepositHash.sol";
import {L2Account} from "../libraries/L2Account.sol";
import {SafeTransfer} from "../libraries/SafeTransfer.sol";
import {ReentrancyGuard} from "../ReentrancyGuard.sol";

/// @notice The asset router: the bridge of tokens and ether, also known as the shared bridge. Has no balance itself.
contract L1AssetRouter is IL1AssetRouter, ReentrancyGuard {
    bytes32 internal constant TWO_BRIDGES_MAGIC_VALUE = bytes32(
        uint256(keccak256("TWO_BRIDGES_MAGIC_VALUE")) - 1
    );

    /// @inheritdoc IL1AssetRouter
    address public immutable BRIDGE_HUB;
    /// @notice The nullifier, which records what was paid.
    address public immutable L1_NULLIFIER;
    /// @notice The vault that holds all deposits.
    address public immutable nativeTokenVault;
    /// @notice The legacy token bridge.
    address public immutable legacyBridge;
    /// @notice The asset id of ether.
    bytes32 public immutable ETH_TOKEN_ASSET_ID;

    error Unauthorized(address caller);
    error AssetIdNotSupported(bytes32 assetId);
    error UnsupportedEncodingVersion(bytes1 version);
    error NonEmptyMsgValue();

    modifier onlyBridgehub() {
        if (msg.sender != BRIDGE_HUB) revert Unauthorized(msg.sender);
        _;
    }

    modifier onlyNullifier() {
        if (msg.sender != L1_NULLIFIER) revert Unauthorized(msg.sender);
        _;
    }

    constructor(
        address bridgehub,
        address nullifier,
        address nativeTokenVault_,
        address legacyBridge_
    ) {
        BRIDGE_HUB = bridgehub;
        L1_NULLIFIER = nullifier;
        nativeTokenVault = nativeTokenVault_;
        legacyBridge = legacyBridge_;
        ETH_TOKEN_ASSET_ID = DataEncoding.assetId(block.chainid, ETH_TOKEN);
    }

    // --- Deposits ---

    /// @inheritdoc IL1AssetRouter
    /// @dev A chain's contract may only deposit ether, which it sends along: it does not get at the allowances of
    /// users for this contract.
    function bridgehubDepositBaseToken(
        uint256 chainId,
        bytes32 assetId,
        address originalCaller,
        uint256 amount
    ) external payable nonReentrant {
        bool isChain =
            assetId == ETH_TOKEN_ASSET_ID &&
                msg.sender == IBridgehub(BRIDGE_HUB).getZKChain(chainId);
        if (msg.sender != BRIDGE_HUB && !isChain) revert Unauthorized(msg.sender);
        emit BridgehubDepositBaseTokenInitiated(chainId, originalCaller, assetId, amount);
        _vault().bridgeBurn{value: msg.value}(
            chainId,
            0,
            assetId,
            originalCaller,
            DataEncoding.encodeBurn(amount, address(0), address(0))
        );
    }

    /// @inheritdoc IL1CrossChainSender
    /// @dev `data` is 0x01 and the encoding of an asset id and the data for its vault, or the legacy encoding:
    /// token, amount, receiver. The legacy bridge pays with what it has collected, and adds the depositor.
    function bridgehubDeposit(
        uint256 chainId,
        address originalCaller,
        uint256 value,
        bytes calldata data
    )
        external
        payable
        onlyBridgehub
        nonReentrant
        returns (L2TransactionRequestTwoBridgesInner memory request)
    {
        if (data.length == 0) revert UnsupportedEncodingVersion(0);
        address depositor =
            originalCaller == legacyBridge ? abi.decode(data[96:128], (address)) : originalCaller;
        (bytes32 assetId, bytes memory burnData) = data[0] == DepositHash.VERSION
            ? _readDeposit(data[1:])
            : _readLegacyDeposit(data, depositor);
        // The base token is deposited by the request's mint value; here it would be minted to the router.
        if (IBridgehub(BRIDGE_HUB).baseTokenAssetId(chainId) == assetId) {
            revert AssetIdNotSupported(assetId);
        }
        request.magicValue = TWO_BRIDGES_MAGIC_VALUE;
        request.l2Contract = L2_ASSET_ROUTER;
        request.txDataHash =
            data[0] == DepositHash.VERSION
                ? DepositHash.hash(depositor, assetId, burnData)
                : DepositHash.legacyHash(depositor, _vault().tokenAddress(assetId), burnData);

        bytes memory mintData = _vault().bridgeBurn{value: msg.value}(
            chainId,
            value,
            assetId,
            originalCaller,
            burnData
        );
        if (depositor != originalCaller) mintData = DataEncoding.withCaller(mintData, depositor);
        request.l2Calldata = getDepositCalldata(depositor, assetId, mintData);
        emit BridgehubDepositInitiated(chainId, request.txDataHash, depositor, assetId, mintData);
    }

    /// @inheritdoc IL1CrossChainSender
    function bridgehubConfirmL2Transaction(
        uint256 chainId,
        bytes32 txDataHash,
        bytes32 txHash
    ) external onlyBridgehub nonReentrant {
        IL1Nullifier(L1_NULLIFIER).bridgehubConfirmL2TransactionForwarded(
            chainId,
            txDataHash,
            txHash
        );
    }

    /// @notice The call data of a deposit on L2.
    /// @param assetData The data for the vault on L2.
    function getDepositCalldata(
        address,
        bytes32 assetId,
        bytes memory assetData
    ) public view returns (bytes memory) {
        return
            abi.encodeCall(IAssetRouterBase.finalizeDeposit, (block.chainid, assetId, assetData));
    }

    /// @inheritdoc IL1AssetRouter
    function transferFundsToNTV(
        bytes32 assetId,
        uint256 amount,
        address originalCaller
    ) external returns (bool) {
        if (msg.sender != nativeTokenVault) revert Unauthorized(msg.sender);
        address token = _vault().tokenAddress(assetId);
        if (IERC20(token).allowance(originalCaller, address(this)) < amount) return false;
        SafeTransfer.transferFrom(token, originalCaller, nativeTokenVault, amount);
        return true;
    }

    // --- Withdrawals ---

    /// @inheritdoc IAssetRouterBase
    /// @dev Only the nullifier, which has checked the proof.
    function finalizeDeposit(
        uint256 chainId,
        bytes32 assetId,
        bytes calldata transferData
    ) external payable onlyNullifier nonReentrant {
        if (msg.value != 0) revert NonEmptyMsgValue();
        emit DepositFinalizedAssetRouter(chainId, assetId, transferData);
        _vault().bridgeMint(chainId, assetId, transferData);
    }

    /// @inheritdoc IL1AssetRouter
    function finalizeWithdrawal(
        uint256 chainId,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes calldata message,
        bytes32[] calldata merkleProof
    ) external {
        FinalizeL1DepositParams memory params;
        params.chainId = chainId;
        params.l2BatchNumber = l2BatchNumber;
        params.l2MessageIndex = l2MessageIndex;
        params.l2Sender = L2_ASSET_ROUTER;
        params.l2TxNumberInBatch = l2TxNumberInBatch;
        params.message = message;
        params.merkleProof = merkleProof;
        IL1Nullifier(L1_NULLIFIER).finalizeDeposit(params);
    }

    /// @inheritdoc IL1AssetRouter
    function isWithdrawalFinalized(
        uint256 chainId,
        uint256 l2BatchNumber,
        uint256 l2MessageIndex
    ) external view returns (bool) {
        return
            IL1Nullifier(L1_NULLIFIER).isWithdrawalFinalized(
                chainId,
                l2BatchNumber,
                l2MessageIndex
            );
    }

    // --- Failed deposits ---

    /// @inheritdoc IL1AssetRouter
    function bridgeRecoverFailedTransfer(
        uint256 chainId,
        address depositSender,
        bytes32 assetId,
        bytes calldata assetData
    ) external onlyNullifier nonReentrant {
        emit ClaimedFailedDepositAssetRouter(chainId, assetId, assetData);
        _vault().bridgeRecoverFailedTransfer(chainId, assetId, depositSender, assetData);
    }

    /// @notice Refund a deposit that is proven to have failed on L2; see `IL1Nullifier`.
    function bridgeRecoverFailedTransfer(
        uint256,
        address,
        bytes32,
        bytes calldata,
        bytes32,
        uint256,
        uint256,
        uint16,
        bytes32[] calldata
    ) external {
        _forwardToNullifier();
    }

    /// @notice Refund a deposit that is proven to have failed on L2, by its token and amount; see `IL1Nullifier`.
    function claimFailedDeposit(
        uint256,
        address,
        address,
        uint256,
        bytes32,
        uint256,
        uint256,
        uint16,
        bytes32[] calldata
    ) external {
        _forwardToNullifier();
    }

    // --- Addresses ---

    /// @notice The bridge on a chain, or zero for an unknown chain.
    function l2BridgeAddress(uint256 chainId) external view returns (address) {
        bool isKnown = IBridgehub(BRIDGE_HUB).getZKChain(chainId) != address(0);
        return isKnown ? L2_ASSET_ROUTER : address(0);
    }

    /// @notice The handler of an asset: the vault, or zero for an asset that is not registered.
    function assetHandlerAddress(bytes32 assetId) external view returns (address) {
        return _vault().tokenAddress(assetId) == address(0) ? address(0) : nativeTokenVault;
    }

    function _readDeposit(
        bytes calldata data
    ) private returns (bytes32 assetId, bytes memory burnData) {
        (assetId, burnData) = abi.decode(data, (bytes32, bytes));
        if (_vault().tokenAddress(assetId) == address(0)) {
            _vault().tryRegisterTokenFromBurnData(burnData, assetId);
        }
    }

    function _readLegacyDeposit(
        bytes calldata data,
        address originalCaller
    ) private returns (bytes32 assetId, bytes memory burnData) {
        if (data[0] != 0x00) revert UnsupportedEncodingVersion(data[0]);
        (address token, uint256 amount, address receiver) = abi.decode(
            data,
            (address, uint256, address)
        );
        assetId = _vault().ensureTokenIsRegistered(token);
        // Clients of this encoding give no amount of ether: it is what they pay.
        if (token == ETH_TOKEN && amount == 0) amount = msg.value;
        if (receiver == address(0)) receiver = L2Account.ofCaller(originalCaller);
        burnData = DataEncoding.encodeBurn(amount, receiver, token);
    }

    /// @dev The nullifier's functions have the same signatures.
    function _forwardToNullifier() private {
        (bool success, bytes memory returnData) = L1_NULLIFIER.call(msg.data);
        if (success) return;
        assembly ("memory-safe") {
            revert(add(returnData, 0x20), mload(returnData))
        }
    }

    function _vault() private view returns (IL1NativeTokenVault) {
        return IL1NativeTokenVault(nativeTokenVault);
    }
}
