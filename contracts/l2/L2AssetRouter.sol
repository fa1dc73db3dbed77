// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {AddressAliasHelper} from "../shared/AddressAliasHelper.sol";
import {
    L2_BASE_TOKEN,
    L2_BRIDGEHUB,
    L2_INTEROP_CENTER,
    L2_INTEROP_HANDLER,
    L2_MESSENGER,
    L2_NATIVE_TOKEN_VAULT
} from "../shared/Addresses.sol";
import {DataEncoding} from "../shared/DataEncoding.sol";
import {IAssetRouterBase} from "../shared/IAssetRouterBase.sol";
import {InteropCallStarter} from "../shared/Interop.sol";
import {InteroperableAddress} from "../shared/InteroperableAddress.sol";
import {
    IERC7786Recipient,
    IInteropChains,
    IInteropRouter,
    IL2CrossChainInitiator
} from "./interfaces/IInterop.sol";
import {IL1Messenger} from "./interfaces/IL1Messenger.sol";
import {IL2NativeTokenVault} from "./interfaces/IL2NativeTokenVault.sol";

/// @notice The asset router: deposits of tokens from L1, and withdrawals to it.
/// @dev The vault holds the tokens; this contract controls access to it, and sends the messages to L1. Both
/// variables are set in the genesis.
contract L2AssetRouter is IAssetRouterBase, IInteropRouter, IERC7786Recipient {
    IL2NativeTokenVault private constant VAULT = IL2NativeTokenVault(L2_NATIVE_TOKEN_VAULT);

    /// @dev First byte of the data for an asset.
    bytes1 private constant ENCODING_VERSION = 0x01;

    /// @notice The bridgehub of this chain.
    address public constant BRIDGE_HUB = L2_BRIDGEHUB;

    /// @notice The chain id of the settlement layer.
    uint256 public L1_CHAIN_ID;
    /// @notice The L1 contract that sends deposits, whose sender here is its alias.
    address public L1_ASSET_ROUTER;

    /// @notice A deposit from `chainId` was finalized.
    event DepositFinalizedAssetRouter(
        uint256 indexed chainId,
        bytes32 indexed assetId,
        bytes assetData
    );
    /// @notice `l2Sender` withdrew an asset to `chainId`.
    event WithdrawalInitiatedAssetRouter(
        uint256 chainId,
        address indexed l2Sender,
        bytes32 indexed assetId,
        bytes assetData
    );

    error Unauthorized(address caller);
    error TokenNotRegistered(address token);
    error NonEmptyMsgValue();
    error UnsupportedEncodingVersion(bytes1 version);
    error AssetIdNotSupported(bytes32 assetId);
    error WrongSender(bytes sender);
    error WrongSelector(bytes4 selector);
    error WrongSourceChain(uint256 expected, uint256 actual);

    modifier onlyL1AssetRouter() {
        if (msg.sender != AddressAliasHelper.applyL1ToL2Alias(L1_ASSET_ROUTER))
            revert Unauthorized(msg.sender);
        _;
    }

    modifier onlyInteropCenter() {
        if (msg.sender != L2_INTEROP_CENTER) revert Unauthorized(msg.sender);
        _;
    }

    /// @inheritdoc IAssetRouterBase
    function finalizeDeposit(
        uint256 chainId,
        bytes32 assetId,
        bytes calldata transferData
    ) external payable onlyL1AssetRouter {
        if (msg.value != 0) revert NonEmptyMsgValue();
        VAULT.bridgeMint(chainId, assetId, transferData);
        emit DepositFinalizedAssetRouter(chainId, assetId, transferData);
    }

    /// @notice Finalize a deposit in the legacy encoding, with which clients estimate gas.
    /// @param data The raw return data of the token's `name`, `symbol` and `decimals`.
    function finalizeDeposit(
        address l1Sender,
        address l2Receiver,
        address l1Token,
        uint256 amount,
        bytes calldata data
    ) external onlyL1AssetRouter {
        bytes32 assetId = DataEncoding.assetId(L1_CHAIN_ID, l1Token);
        bytes memory transferData = DataEncoding.encodeMint(
            l1Sender,
            l2Receiver,
            l1Token,
            amount,
            data
        );
        VAULT.bridgeMint(L1_CHAIN_ID, assetId, transferData);
        emit DepositFinalizedAssetRouter(L1_CHAIN_ID, assetId, transferData);
    }

    /// @notice Withdraw an asset of the caller to L1.
    /// @param assetData Amount, receiver and token, see `DataEncoding.encodeBurn`.
    /// @return The hash of the message to L1.
    function withdraw(bytes32 assetId, bytes calldata assetData) external returns (bytes32) {
        return _withdraw(assetId, assetData);
    }

    /// @notice Withdraw `amount` of a token of the caller to `l1Receiver` on L1.
    /// @param l2Token The token's address on this chain.
    function withdraw(address l1Receiver, address l2Token, uint256 amount) external {
        bytes32 assetId = VAULT.assetId(l2Token);
        if (assetId == bytes32(0)) revert TokenNotRegistered(l2Token);
        _withdraw(assetId, DataEncoding.encodeBurn(amount, l1Receiver, l2Token));
    }

    // --- Other chains ---

    /// @inheritdoc IL2CrossChainInitiator
    /// @dev The call is one of this contract to that of the destination.
    function initiateIndirectCall(
        uint256 chainId,
        address originalCaller,
        uint256 value,
        bytes calldata data
    ) external payable onlyInteropCenter returns (InteropCallStarter memory starter) {
        if (value != 0) revert NonEmptyMsgValue();
        bytes1 version = data.length == 0 ? bytes1(0) : data[0];
        if (version != ENCODING_VERSION) revert UnsupportedEncodingVersion(version);
        (bytes32 assetId, bytes memory burnData) = abi.decode(data[1:], (bytes32, bytes));
        // The destination does not mint its base token; that is sent as the value of a call.
        if (IInteropChains(L2_BRIDGEHUB).baseTokenAssetId(chainId) == assetId) {
            revert AssetIdNotSupported(assetId);
        }
        bytes memory mintData = VAULT.bridgeBurn{value: msg.value}(
            chainId,
            0,
            assetId,
            originalCaller,
            burnData
        );
        starter.to = InteroperableAddress.format(address(this));
        starter.data = abi.encodeWithSelector(
            IAssetRouterBase.finalizeDeposit.selector,
            block.chainid,
            assetId,
            mintData
        );
    }

    /// @inheritdoc IInteropRouter
    function burnBaseTokenOf(
        uint256 chainId,
        address from,
        uint256 amount
    ) external onlyInteropCenter {
        bytes32 assetId = IInteropChains(L2_BRIDGEHUB).baseTokenAssetId(chainId);
        VAULT.bridgeBurn(
            chainId,
            0,
            assetId,
            from,
            DataEncoding.encodeBurn(amount, from, address(0))
        );
    }

    /// @inheritdoc IERC7786Recipient
    /// @dev Only what the router of another chain has sent, and nothing but an asset.
    function receiveMessage(
        bytes32,
        bytes calldata sender,
        bytes calldata payload
    ) external payable returns (bytes4) {
        if (msg.sender != L2_INTEROP_HANDLER) revert Unauthorized(msg.sender);
        if (msg.value != 0) revert NonEmptyMsgValue();
        (uint256 source, address account) = InteroperableAddress.parse(sender);
        if (account != address(this) || source == L1_CHAIN_ID) revert WrongSender(sender);
        if (bytes4(payload) != IAssetRouterBase.finalizeDeposit.selector) {
            revert WrongSelector(bytes4(payload));
        }
        (uint256 chainId, bytes32 assetId, bytes memory transferData) = abi.decode(
            payload[4:],
            (uint256, bytes32, bytes)
        );
        if (chainId != source) revert WrongSourceChain(source, chainId);
        VAULT.bridgeMint(chainId, assetId, transferData);
        emit DepositFinalizedAssetRouter(chainId, assetId, transferData);
        return IERC7786Recipient.receiveMessage.selector;
    }

    /// @notice The L1 contract that sends deposits, under an older name.
    function l1Bridge() external view returns (address) {
        return L1_ASSET_ROUTER;
    }

    /// @notice The L1 contract that sends deposits, under an older name.
    function l1SharedBridge() external view returns (address) {
        return L1_ASSET_ROUTER;
    }

    /// @notice The L1 token of the bridged token `l2Token`, or zero; the base token is no bridged token.
    function l1TokenAddress(address l2Token) external view returns (address) {
        if (l2Token == L2_BASE_TOKEN) return address(0);
        bytes32 assetId = VAULT.assetId(l2Token);
        return
            VAULT.originChainId(assetId) == L1_CHAIN_ID ? VAULT.originToken(assetId) : address(0);
    }

    /// @notice The address of the bridged token of `l1Token`, also before its first deposit.
    /// @dev Older clients ask here, and expect the address in advance; the vault returns zero until then.
    function l2TokenAddress(address l1Token) external view returns (address token) {
        token = VAULT.l2TokenAddress(l1Token);
        if (token == address(0)) token = VAULT.calculateCreate2TokenAddress(L1_CHAIN_ID, l1Token);
    }

    /// @notice The handler of an asset, or zero if it is not registered.
    function assetHandlerAddress(bytes32 assetId) external view returns (address) {
        return VAULT.tokenAddress(assetId) == address(0) ? address(0) : L2_NATIVE_TOKEN_VAULT;
    }

    function _withdraw(bytes32 assetId, bytes memory assetData) private returns (bytes32 hash) {
        bytes memory mintData = VAULT.bridgeBurn(L1_CHAIN_ID, 0, assetId, msg.sender, assetData);
        // The message has the selector of a deposit's call: finalizing it on L1 does the same.
        hash = IL1Messenger(L2_MESSENGER).sendToL1(
            abi.encodePacked(
                IAssetRouterBase.finalizeDeposit.selector,
                block.chainid,
                assetId,
                mintData
            )
        );
        emit WithdrawalInitiatedAssetRouter(L1_CHAIN_ID, msg.sender, assetId, assetData);
    }
}
