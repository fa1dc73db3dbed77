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
/// what bundles carry is taken from what L1 holds for their chain before any other chain can learn of them. A bundle
/// that cannot be booked is left out: its leaf is an empty one in the root that is added, until it can be.
contract MessageRoot is IMessageRoot, ReentrancyGuard {
    using AppendTree for AppendTree.Tree;
    using LeafTree for LeafTree.Tree;

    /// @dev The last root of a block; `changes` counts those before it.
    struct BlockRoot {
        bytes32 root;
        uint128 timestamp;
        uint128 changes;
    }

    /// @dev A batch while its bundles are booked.
    struct Settling {
        uint256 chainId;
        uint256 batchNumber;
        bool isFirst;
        LogsTree.LogSet leftOutBefore;
        LogsTree.LogSet leftOut;
        uint256 booked;
        bytes problem;
    }

    /// @dev The interop center, as the messenger logs the senders of messages.
    bytes32 private constant CENTER = bytes32(uint256(uint160(L2_INTEROP_CENTER)));

    /// @notice The registry of chains.
    address public immutable BRIDGE_HUB;
    /// @notice The vault with the books.
    address public immutable NATIVE_TOKEN_VAULT;

    /// @notice The leaf of a chain in the tree of chains; 0 is that of L1, and of a chain that has none.
    mapping(uint256 chainId => uint256) public chainIndex;
    /// @notice Whether a root of a batch was added, with or without all of its bundles.
    mapping(uint256 chainId => mapping(uint256 batchNumber => bool)) public isAppended;
    mapping(uint256 chainId => mapping(uint256 batchNumber => LogsTree.LogSet)) private _leftOut;
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
    error BundleNotReadable(uint256 logIndex);
    error BundleHashMismatch(bytes32 expected, bytes32 actual);
    error WrongSourceChain(uint256 expected, uint256 actual);
    error InvalidDestination(uint256 chainId);
    error WrongDestinationBaseToken(bytes32 expected, bytes32 actual);
    error InvalidAssetCall(uint256 callIndex);
    error EmptyAssetCall(uint256 callIndex);
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
        if (isSettled(chainId, batchNumber)) revert BatchAlreadySettled(chainId, batchNumber);
        address chain = IBridgehub(BRIDGE_HUB).getZKChain(chainId);
        bytes32 root = IZKChain(chain).l2LogsRootHash(batchNumber);
        if (root == bytes32(0)) revert BatchNotExecuted(chainId, batchNumber);
        Settling memory batch;
        batch.chainId = chainId;
        batch.batchNumber = batchNumber;
        bytes32 actual = LogsTree.batchRoot(logs);
        if (actual != root) revert LogsRootMismatch(root, actual);
        _book(batch, logs, messages);
        if (batch.problem.length != 0) {
            root = LogsTree.batchRootWithout(logs, batch.leftOut);
        }
        _append(chainId, batchNumber, root);
    }

    /// @inheritdoc IMessageRoot
    function bookBundle(uint256 source, uint256 batchNumber, bytes calldata message) external {
        if (msg.sender != address(this)) revert Unauthorized(msg.sender);
        InteropBundle memory bundle = Bundles.ofMessage(message);
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
        if (values != 0) _move(source, destination, batchNumber, baseToken, values);
    }

    /// @inheritdoc IMessageRoot
    function isLeftOut(
        uint256 chainId,
        uint256 batchNumber,
        uint256 logIndex
    ) external view returns (bool) {
        return LogsTree.has(_leftOut[chainId][batchNumber], logIndex);
    }

    /// @inheritdoc IMessageRoot
    function isSettled(uint256 chainId, uint256 batchNumber) public view returns (bool) {
        return isAppended[chainId][batchNumber] && LogsTree.isEmpty(_leftOut[chainId][batchNumber]);
    }

    /// @dev Bundles are the messages of the interop center, which its chain's messenger has logged. Those that are
    /// booked already are not booked again.
    function _book(Settling memory batch, bytes calldata logs, bytes[] calldata messages) private {
        batch.isFirst = !isAppended[batch.chainId][batch.batchNumber];
        batch.leftOutBefore = _leftOut[batch.chainId][batch.batchNumber];
        uint256 found = 0;
        uint256 count = logs.length / LogsTree.LOG_SIZE;
        for (uint256 i = 0; i < count; ++i) {
            (address sender, bytes32 key, bytes32 value) = LogsTree.read(logs, i);
            if (sender != L2_MESSENGER || key != CENTER) continue;
            if (found == messages.length) revert BundlesMismatch(found + 1, messages.length);
            bytes32 actual = keccak256(messages[found]);
            if (value != actual) revert BundleHashMismatch(value, actual);
            if (batch.isFirst || LogsTree.has(batch.leftOutBefore, i)) {
                _tryToBook(batch, i, messages[found]);
            }
            ++found;
        }
        if (found != messages.length) revert BundlesMismatch(found, messages.length);
        if (batch.isFirst) {
            isAppended[batch.chainId][batch.batchNumber] = true;
            if (batch.problem.length == 0) return;
        } else if (batch.booked == 0) {
            _revertWith(batch.problem);
        }
        _leftOut[batch.chainId][batch.batchNumber] = batch.leftOut;
    }

    /// @dev An error without a reason may be gas that the caller did not give, and so decides nothing.
    function _tryToBook(Settling memory batch, uint256 logIndex, bytes calldata message) private {
        try this.bookBundle(batch.chainId, batch.batchNumber, message) {
            ++batch.booked;
        } catch (bytes memory reason) {
            if (reason.length == 0) revert BundleNotReadable(logIndex);
            if (batch.problem.length == 0) batch.problem = reason;
            LogsTree.add(batch.leftOut, logIndex);
            emit BundleLeftOut(batch.chainId, batch.batchNumber, logIndex, reason);
        }
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
        // A chain that has nothing of an asset must not name it on another one.
        if (amount == 0) revert EmptyAssetCall(callIndex);
        _move(source, destination, batchNumber, assetId, amount);
    }

    function _move(
        uint256 source,
        uint256 destination,
        uint256 batchNumber,
        bytes32 assetId,
        uint256 amount
    ) private {
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

    function _revertWith(bytes memory reason) private pure {
        assembly ("memory-safe") {
            revert(add(reason, 0x20), mload(reason))
        }
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
