// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_ASSET_ROUTER, L2_INTEROP_CENTER, L2_MESSENGER} from "../../shared/Addresses.sol";
import {IAssetRouterBase} from "../../shared/IAssetRouterBase.sol";
import {Bundles, InteropBundle, InteropCall, InteropRoot} from "../../shared/Interop.sol";
import {Tail} from "../../shared/Tail.sol";
import {IBridgehub} from "../interfaces/IBridgehub.sol";
import {IInteropVault} from "../interfaces/IInteropVault.sol";
import {IMessageRoot} from "../interfaces/IMessageRoot.sol";
import {IZKChain} from "../interfaces/IZKChain.sol";
import {AppendTree} from "../libraries/AppendTree.sol";
import {LeafTree} from "../libraries/LeafTree.sol";
import {LogsTree} from "../libraries/LogsTree.sol";
import {MessageHashing} from "../../shared/MessageHashing.sol";
import {ReentrancyGuard} from "../ReentrancyGuard.sol";

/// @notice The roots of all chains. A batch adds its root only together with its books.
/// @dev L1 sees of a batch only a root, into which an operator that lies could put bundles that nobody paid for. So
/// what bundles carry is taken from what L1 holds for their chain before any other chain can learn of them.
contract MessageRoot is IMessageRoot, ReentrancyGuard {
    using AppendTree for AppendTree.Tree;
    using LeafTree for LeafTree.Tree;

    /// @dev The last root of a block; `changes` counts those before it.
    struct BlockRoot {
        bytes32 root;
        uint128 timestamp;
        uint128 changes;
    }

    /// @dev The positions in a packed log.
    uint256 private constant SENDER_AT = 4;
    uint256 private constant KEY_AT = 24;
    uint256 private constant VALUE_AT = 56;

    /// @notice The registry of chains.
    address public immutable BRIDGE_HUB;
    /// @notice The vault with the books.
    address public immutable NATIVE_TOKEN_VAULT;

    /// @notice The leaf of a chain in the tree of chains; 0 is that of L1, and of a chain that has none.
    mapping(uint256 chainId => uint256) public chainIndex;
    /// @notice Whether the root of a batch was added.
    mapping(uint256 chainId => mapping(uint256 batchNumber => bool)) public isSettled;
    mapping(uint256 chainId => AppendTree.Tree) private _batches;
    mapping(uint256 blockNumber => BlockRoot) private _roots;
    LeafTree.Tree private _chains;

    error Unauthorized(address caller);
    error ChainNotRegistered(uint256 chainId);
    error ChainAlreadyAdded(uint256 chainId);
    error BatchAlreadySettled(uint256 chainId, uint256 batchNumber);
    error BatchNotExecuted(uint256 chainId, uint256 batchNumber);
    error LogsRootMismatch(bytes32 expected, bytes32 actual);
    error BundlesMismatch(uint256 expected, uint256 provided);
    error BundleHashMismatch(bytes32 expected, bytes32 actual);
    error WrongSourceChain(uint256 expected, uint256 actual);
    error InvalidDestination(uint256 chainId);
    error WrongDestinationBaseToken(bytes32 expected, bytes32 actual);
    error InvalidAssetCall(uint256 callIndex);
    error InteropRootMismatch(uint256 chainId, uint256 blockNumber);

    constructor(address bridgehub, address nativeTokenVault) {
        BRIDGE_HUB = bridgehub;
        NATIVE_TOKEN_VAULT = nativeTokenVault;
        _chains.push(MessageHashing.chainIdLeaf(bytes32(0), block.chainid));
    }

    // --- Chains ---

    /// @inheritdoc IMessageRoot
    function addNewChain(uint256 chainId) external {
        if (msg.sender != BRIDGE_HUB) revert Unauthorized(msg.sender);
        if (chainIndex[chainId] != 0) revert ChainAlreadyAdded(chainId);
        uint256 index = _chains.push(MessageHashing.chainIdLeaf(bytes32(0), chainId));
        chainIndex[chainId] = index;
        emit AddedChain(chainId, index);
        // The root of a block is that at its end. A chain without batches alone is nothing to import.
        if (_roots[block.number].changes != 0) _publish(_chains.root);
    }

    /// @notice The root over all chains.
    function getAggregatedRoot() external view returns (bytes32) {
        return _chains.root;
    }

    /// @notice The root over the batches of a chain.
    function getChainRoot(uint256 chainId) external view returns (bytes32) {
        if (chainIndex[chainId] == 0) revert ChainNotRegistered(chainId);
        return _batches[chainId].root;
    }

    /// @notice How many chains there are.
    function chainCount() external view returns (uint256) {
        return _chains.size - 1;
    }

    // --- Batches ---

    /// @inheritdoc IMessageRoot
    function settle(
        uint256 chainId,
        uint256 batchNumber,
        bytes calldata logs,
        bytes[] calldata messages
    ) external nonReentrant {
        if (chainIndex[chainId] == 0) revert ChainNotRegistered(chainId);
        if (isSettled[chainId][batchNumber]) revert BatchAlreadySettled(chainId, batchNumber);
        isSettled[chainId][batchNumber] = true;
        address chain = IBridgehub(BRIDGE_HUB).getZKChain(chainId);
        bytes32 root = IZKChain(chain).l2LogsRootHash(batchNumber);
        if (root == bytes32(0)) revert BatchNotExecuted(chainId, batchNumber);
        bytes32 actual = LogsTree.batchRoot(logs);
        if (actual != root) revert LogsRootMismatch(root, actual);
        _book(chainId, batchNumber, logs, messages);
        _append(chainId, batchNumber, root);
    }

    /// @dev Bundles are the messages of the interop center, which its chain's messenger has logged.
    function _book(
        uint256 chainId,
        uint256 batchNumber,
        bytes calldata logs,
        bytes[] calldata messages
    ) private {
        uint256 found = 0;
        bytes32 center = bytes32(uint256(uint160(L2_INTEROP_CENTER)));
        for (uint256 start = 0; start < logs.length; start += LogsTree.LOG_SIZE) {
            bytes calldata log = logs[start:start + LogsTree.LOG_SIZE];
            if (address(bytes20(log[SENDER_AT:KEY_AT])) != L2_MESSENGER) continue;
            if (bytes32(log[KEY_AT:VALUE_AT]) != center) continue;
            if (found == messages.length) revert BundlesMismatch(found + 1, messages.length);
            bytes32 actual = keccak256(messages[found]);
            if (bytes32(log[VALUE_AT:]) != actual) {
                revert BundleHashMismatch(bytes32(log[VALUE_AT:]), actual);
            }
            _bookBundle(chainId, batchNumber, Bundles.ofMessage(messages[found]));
            ++found;
        }
        if (found != messages.length) revert BundlesMismatch(found, messages.length);
    }

    function _bookBundle(uint256 source, uint256 batchNumber, InteropBundle memory bundle) private {
        if (bundle.sourceChainId != source) revert WrongSourceChain(source, bundle.sourceChainId);
        uint256 destination = bundle.destinationChainId;
        if (destination == source || chainIndex[destination] == 0) {
            revert InvalidDestination(destination);
        }
        bytes32 baseToken = IBridgehub(BRIDGE_HUB).baseTokenAssetId(destination);
        if (bundle.destinationBaseTokenAssetId != baseToken) {
            revert WrongDestinationBaseToken(baseToken, bundle.destinationBaseTokenAssetId);
        }
        uint256 values = 0;
        for (uint256 i = 0; i < bundle.calls.length; ++i) {
            InteropCall memory call = bundle.calls[i];
            values += call.value;
            if (call.from == L2_ASSET_ROUTER && call.to == L2_ASSET_ROUTER) {
                _bookAsset(source, destination, batchNumber, call.data, i);
            }
        }
        _move(source, destination, batchNumber, baseToken, values);
    }

    /// @dev What the router of the source has collected, and the router of the destination pays.
    function _bookAsset(
        uint256 source,
        uint256 destination,
        uint256 batchNumber,
        bytes memory data,
        uint256 callIndex
    ) private {
        if (bytes4(data) != IAssetRouterBase.finalizeDeposit.selector) {
            revert InvalidAssetCall(callIndex);
        }
        (uint256 from, bytes32 assetId, bytes memory transferData) = abi.decode(
            Tail.from(data, 4),
            (uint256, bytes32, bytes)
        );
        if (from != source) revert WrongSourceChain(source, from);
        uint256 amount = IInteropVault(NATIVE_TOKEN_VAULT).ensureAssetOfChain(
            source,
            assetId,
            transferData
        );
        _move(source, destination, batchNumber, assetId, amount);
    }

    function _move(
        uint256 source,
        uint256 destination,
        uint256 batchNumber,
        bytes32 assetId,
        uint256 amount
    ) private {
        if (amount == 0) return;
        IInteropVault(NATIVE_TOKEN_VAULT).moveChainBalance(
            source,
            destination,
            batchNumber,
            assetId,
            amount
        );
    }

    function _append(uint256 chainId, uint256 batchNumber, bytes32 batchRoot) private {
        bytes32 leaf = MessageHashing.batchLeaf(batchRoot, batchNumber, block.timestamp);
        bytes32 chainRoot = _batches[chainId].push(leaf);
        bytes32 chainLeaf = MessageHashing.chainIdLeaf(chainRoot, chainId);
        bytes32 root = _chains.set(chainIndex[chainId], chainLeaf);
        emit AppendedChainBatchRoot(chainId, batchNumber, batchRoot);
        emit NewChainRoot(chainId, chainRoot, chainLeaf);
        _publish(root);
    }

    /// @dev The last root of a block is the one that chains import.
    function _publish(bytes32 root) private {
        uint256 changes = _roots[block.number].changes;
        _roots[block.number] = BlockRoot({
            root: root,
            timestamp: uint128(block.timestamp),
            changes: uint128(changes + 1)
        });
        bytes32[] memory sides = new bytes32[](1);
        sides[0] = root;
        emit NewInteropRoot(block.chainid, block.number, changes, block.timestamp, sides);
    }

    // --- Roots ---

    /// @inheritdoc IMessageRoot
    function historicalRoot(
        uint256 blockNumber
    ) external view returns (bytes32 root, uint256 timestamp) {
        BlockRoot storage found = _roots[blockNumber];
        return (found.root, found.timestamp);
    }

    /// @inheritdoc IMessageRoot
    function checkRoots(InteropRoot[] calldata roots) external view returns (bytes32 rollingHash) {
        for (uint256 i = 0; i < roots.length; ++i) {
            InteropRoot calldata it = roots[i];
            BlockRoot storage known = _roots[it.blockOrBatchNumber];
            bool isKnown =
                it.chainId == block.chainid &&
                    it.sides.length == 1 &&
                    it.sides[0] != bytes32(0) &&
                    it.sides[0] == known.root &&
                    it.timestamp == known.timestamp;
            if (!isKnown) revert InteropRootMismatch(it.chainId, it.blockOrBatchNumber);
            rollingHash = keccak256(
                abi.encodePacked(
                    rollingHash,
                    it.chainId,
                    it.blockOrBatchNumber,
                    it.timestamp,
                    it.sides
                )
            );
        }
    }
}
