// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_ASSET_ROUTER, L2_BASE_TOKEN_HOLDER} from "../shared/Addresses.sol";
import {Amounts} from "../shared/Amounts.sol";
import {DataEncoding} from "../shared/DataEncoding.sol";
import {IERC20} from "../shared/IERC20.sol";
import {TokenMetadata} from "../shared/TokenMetadata.sol";
import {IBridgedStandardToken} from "./interfaces/IBridgedStandardToken.sol";
import {IL2NativeTokenVault} from "./interfaces/IL2NativeTokenVault.sol";
import {TokenDescription} from "./TokenDescription.sol";

/// @dev The genesis address of the implementation of bridged tokens.
address constant BRIDGED_TOKEN_CODE = address(0x10104);

/// @notice The vault: holds the tokens of this chain while they are on L1, and mints and burns bridged ones.
/// @dev All state is set in the genesis or by deposits and withdrawals; there is no owner.
contract L2NativeTokenVault is IL2NativeTokenVault {
    /// @notice The asset router.
    address public constant ASSET_ROUTER = L2_ASSET_ROUTER;
    /// @notice Zero: there is no wrapped base token with rules of its own; any one is a token like others.
    address public constant WETH_TOKEN = address(0);

    /// @inheritdoc IL2NativeTokenVault
    uint256 public L1_CHAIN_ID;
    /// @inheritdoc IL2NativeTokenVault
    bytes32 public BASE_TOKEN_ASSET_ID;
    /// @notice Whether the vault on L1 supports tokens of this chain. If not, their withdrawals revert: the
    /// tokens would be locked for ever.
    bool public L1_TAKES_L2_TOKENS;
    /// @inheritdoc IL2NativeTokenVault
    mapping(address token => bytes32 asset) public assetId;
    /// @inheritdoc IL2NativeTokenVault
    mapping(bytes32 asset => uint256 chainId) public originChainId;
    /// @inheritdoc IL2NativeTokenVault
    mapping(bytes32 asset => address token) public tokenAddress;
    /// @inheritdoc IL2NativeTokenVault
    mapping(bytes32 asset => address token) public originToken;
    /// @notice The assets of other chains that were deposited, in the order of their first deposit.
    bytes32[] public bridgedTokens;
    /// @notice Zero, except on a fork: bridged tokens that the vault of the copied chain deployed keep their addresses,
    /// so those of this one need others. No function changes it.
    bytes32 public BRIDGED_TOKEN_SALT;

    bool private transient _busy;

    /// @notice `amount` of an asset was deposited from `chainId` for `receiver`.
    event BridgeMint(
        uint256 indexed chainId,
        bytes32 indexed assetId,
        address receiver,
        uint256 amount
    );
    /// @notice `amount` of an asset was withdrawn to `receiver` on `chainId`.
    event BridgeBurn(
        uint256 indexed chainId,
        bytes32 indexed assetId,
        address indexed sender,
        address receiver,
        uint256 amount
    );

    error Unauthorized(address caller);
    error Reentered();
    error EmptyToken();
    error TokenNotSupported(address token);
    error TokenAlreadyRegistered(address token);
    error AssetIdNotSupported(bytes32 assetId);
    error AssetIdMismatch(bytes32 expected, bytes32 supplied);
    error AmountMustBeGreaterThanZero();
    error InvalidReceiver(address receiver);
    error TokensWithFeesNotSupported();
    error TransferFailed(address token);
    error DeployFailed();
    error ValueMismatch(uint256 expected, uint256 actual);
    error PaymentFailed();

    modifier onlyAssetRouter() {
        if (msg.sender != L2_ASSET_ROUTER) revert Unauthorized(msg.sender);
        _;
    }

    /// @dev A token may reenter during a transfer, and balances are compared before and after it.
    modifier alone() {
        if (_busy) revert Reentered();
        _busy = true;
        _;
        _busy = false;
    }

    /// @notice Register a token of this chain for withdrawals.
    function registerToken(address token) external {
        if (assetId[token] != bytes32(0)) revert TokenAlreadyRegistered(token);
        _registerNative(token);
    }

    /// @notice Register a token of this chain for withdrawals, unless it is registered.
    /// @return asset The asset id of the token.
    function ensureTokenIsRegistered(address token) external returns (bytes32 asset) {
        asset = assetId[token];
        if (asset == bytes32(0)) asset = _registerNative(token);
    }

    /// @inheritdoc IL2NativeTokenVault
    function bridgeMint(
        uint256 chainId,
        bytes32 asset,
        bytes calldata data
    ) external onlyAssetRouter alone {
        (, address receiver, address origin, uint256 amount, bytes memory metadata) = DataEncoding
            .decodeMint(data);
        if (asset == BASE_TOKEN_ASSET_ID) revert AssetIdNotSupported(asset);
        address token = tokenAddress[asset];
        if (token == address(0)) token = _deploy(asset, origin, metadata);
        if (originChainId[asset] == block.chainid) {
            _call(token, abi.encodeCall(IERC20.transfer, (receiver, amount)));
        } else {
            IBridgedStandardToken(token).bridgeMint(receiver, amount);
        }
        emit BridgeMint(chainId, asset, receiver, amount);
    }

    /// @inheritdoc IL2NativeTokenVault
    function bridgeBurn(
        uint256 chainId,
        uint256,
        bytes32 asset,
        address originalCaller,
        bytes calldata data
    ) external payable onlyAssetRouter alone returns (bytes memory mintData) {
        (uint256 amount, address receiver, address token) = DataEncoding.decodeBurn(data);
        if (amount == 0) revert AmountMustBeGreaterThanZero();
        Amounts.check(amount);
        if (receiver == address(0)) revert InvalidReceiver(receiver);
        bool isBaseToken = asset == BASE_TOKEN_ASSET_ID;
        // It goes to other chains as to any; to L1 its own contract withdraws it.
        if (isBaseToken && chainId == L1_CHAIN_ID) revert AssetIdNotSupported(asset);
        uint256 value = isBaseToken ? amount : 0;
        if (msg.value != value) revert ValueMismatch(value, msg.value);
        token = isBaseToken ? tokenAddress[asset] : _registered(asset, token);
        if (isBaseToken) {
            _collectBaseToken(amount);
        } else if (originChainId[asset] == block.chainid) {
            _collectNative(token, originalCaller, amount);
        } else {
            IBridgedStandardToken(token).bridgeBurn(originalCaller, amount);
        }
        emit BridgeBurn(chainId, asset, originalCaller, receiver, amount);
        bytes memory metadata = getERC20Getters(token, originChainId[asset]);
        return
            DataEncoding.encodeMint(originalCaller, receiver, originToken[asset], amount, metadata);
    }

    /// @inheritdoc IL2NativeTokenVault
    function l2TokenAddress(address l1Token) external view returns (address) {
        return tokenAddress[DataEncoding.assetId(L1_CHAIN_ID, l1Token)];
    }

    /// @notice The number of assets of other chains that were deposited.
    function bridgedTokensCount() external view returns (uint256) {
        return bridgedTokens.length;
    }

    /// @notice Decode a token's metadata; reverts if it is malformed.
    /// @dev External, so that the vault itself can catch the revert.
    function decodeTokenData(
        bytes calldata data
    ) external view returns (uint256, bytes memory, bytes memory, bytes memory) {
        return TokenDescription.decode(data, L1_CHAIN_ID);
    }

    /// @notice Encode a token's metadata, see `DataEncoding.encodeTokenData`.
    function getERC20Getters(
        address token,
        uint256 tokenOriginChainId
    ) public view returns (bytes memory) {
        return TokenMetadata.describe(token, tokenOriginChainId);
    }

    /// @inheritdoc IL2NativeTokenVault
    function calculateCreate2TokenAddress(
        uint256 tokenOriginChainId,
        address token
    ) public view returns (address) {
        bytes32 hash = keccak256(
            abi.encodePacked(
                bytes1(0xff),
                address(this),
                DataEncoding.assetId(tokenOriginChainId, token) ^ BRIDGED_TOKEN_SALT,
                keccak256(_cloneCode())
            )
        );
        return address(uint160(uint256(hash)));
    }

    function _registerNative(address token) private returns (bytes32 asset) {
        if (token.code.length == 0) revert EmptyToken();
        asset = DataEncoding.assetId(block.chainid, token);
        _store(asset, token, block.chainid, token);
    }

    /// @dev The token of an asset; one of this chain is registered by its first withdrawal.
    function _registered(bytes32 asset, address requested) private returns (address token) {
        token = tokenAddress[asset];
        if (token != address(0)) return token;
        if (assetId[requested] != bytes32(0)) revert AssetIdMismatch(assetId[requested], asset);
        bytes32 registered = _registerNative(requested);
        if (registered != asset) revert AssetIdMismatch(registered, asset);
        return requested;
    }

    function _collectBaseToken(uint256 amount) private {
        (bool success, ) = L2_BASE_TOKEN_HOLDER.call{value: amount}("");
        if (!success) revert PaymentFailed();
    }

    function _collectNative(address token, address from, uint256 amount) private {
        if (!L1_TAKES_L2_TOKENS) revert TokenNotSupported(token);
        uint256 before = IERC20(token).balanceOf(address(this));
        _call(token, abi.encodeCall(IERC20.transferFrom, (from, address(this), amount)));
        if (IERC20(token).balanceOf(address(this)) - before != amount)
            revert TokensWithFeesNotSupported();
    }

    function _deploy(
        bytes32 asset,
        address origin,
        bytes memory metadata
    ) private returns (address token) {
        uint256 chainId = L1_CHAIN_ID;
        bytes memory name;
        bytes memory symbol;
        bytes memory decimals;
        try this.decodeTokenData(metadata) returns (
            uint256 chainId_,
            bytes memory name_,
            bytes memory symbol_,
            bytes memory decimals_
        ) {
            (chainId, name, symbol, decimals) = (chainId_, name_, symbol_, decimals_);
        } catch {
            // Without metadata it is still the bridged token of that asset.
        }
        bytes32 expected = DataEncoding.assetId(chainId, origin);
        if (expected != asset) revert AssetIdMismatch(expected, asset);
        if (chainId == block.chainid) revert AssetIdNotSupported(asset);
        token = _clone(asset ^ BRIDGED_TOKEN_SALT);
        _store(asset, token, chainId, origin);
        bridgedTokens.push(asset);
        IBridgedStandardToken(token).bridgeInitialize(
            asset,
            origin,
            TokenDescription.readText(name),
            TokenDescription.readText(symbol),
            TokenDescription.readDecimals(decimals)
        );
    }

    function _store(bytes32 asset, address token, uint256 chainId, address origin) private {
        assetId[token] = asset;
        tokenAddress[asset] = token;
        originChainId[asset] = chainId;
        originToken[asset] = origin;
    }

    function _clone(bytes32 salt) private returns (address token) {
        bytes memory code = _cloneCode();
        assembly ("memory-safe") {
            token := create2(0, add(code, 0x20), mload(code), salt)
        }
        if (token == address(0)) revert DeployFailed();
    }

    /// @dev Calls a function that returns true or, in tokens older than the standard, nothing.
    function _call(address token, bytes memory data) private {
        (bool success, bytes memory returnData) = token.call(data);
        if (!success && returnData.length > 0) {
            assembly ("memory-safe") {
                revert(add(returnData, 0x20), mload(returnData))
            }
        }
        bool isTrue =
            returnData.length == 0 || (returnData.length >= 32 && abi.decode(returnData, (bool)));
        if (!success || !isTrue || token.code.length == 0) revert TransferFailed(token);
    }

    /// @dev Init code of a minimal proxy (ERC-1167).
    function _cloneCode() private pure returns (bytes memory) {
        return
            abi.encodePacked(
                hex"3d602d80600a3d3981f3363d3d373d3d3d363d73",
                BRIDGED_TOKEN_CODE,
                hex"5af43d82803e903d91602b57fd5bf3"
            );
    }
}
