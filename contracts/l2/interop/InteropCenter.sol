// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

// Some constants are named as the functions that clients call.
// solhint-disable const-name-snakecase

import {AddressAliasHelper} from "../../shared/AddressAliasHelper.sol";
import {
    L2_ASSET_ROUTER,
    L2_BASE_TOKEN_HOLDER,
    L2_BRIDGEHUB,
    L2_INTEROP_HANDLER,
    L2_MESSENGER
} from "../../shared/Addresses.sol";
import {Amounts} from "../../shared/Amounts.sol";
import {
    BundleAttributes,
    Bundles,
    InteropBundle,
    InteropCall,
    InteropCallStarter
} from "../../shared/Interop.sol";
import {InteroperableAddress} from "../../shared/InteroperableAddress.sol";
import {IInteropChains, IInteropRouter, IL2CrossChainInitiator} from "../interfaces/IInterop.sol";
import {IL1Messenger} from "../interfaces/IL1Messenger.sol";
import {AccountCode} from "../libraries/AccountCode.sol";
import {Attributes, CallAttributes} from "./Attributes.sol";

/// @notice Sends bundles of calls to other chains.
contract InteropCenter {
    /// @dev The sums of a bundle while it is made.
    struct Totals {
        uint256 values;
        uint256 indirectValues;
    }

    /// @notice The most calls of a bundle.
    uint256 public constant MAX_CALLS = 64;
    /// @notice The most bytes of a bundle, and of all bundles of a transaction.
    /// @dev A batch can end between transactions only, and one transaction on L1 books all its bundles.
    uint256 public constant MAX_BUNDLE_BYTES = 100_000;
    /// @notice The fee in the protocol's own token, which this chain does not take.
    uint256 public constant ZK_INTEROP_FEE = 1 ether;
    /// @notice The protocol's own token: there is none.
    address public constant zkToken = address(0);

    /// @notice The fee for each call, in the base token; set in the genesis, and by L1 with a new price of ether.
    uint256 public interopProtocolFee;
    /// @notice The fees so far, which are burnt.
    uint256 public burntFees;
    /// @notice How many bundles an account has sent.
    mapping(address sender => uint256) public interopBundleNonce;
    bool private transient _busy;
    uint256 private transient _bytes;

    /// @notice A call was sent (ERC-7786).
    event MessageSent(
        bytes32 indexed sendId,
        bytes sender,
        bytes recipient,
        bytes payload,
        uint256 value,
        bytes[] attributes
    );
    /// @notice A bundle was sent; the first argument is the hash of its message to L1.
    event InteropBundleSent(
        bytes32 l2l1MsgHash,
        bytes32 interopBundleHash,
        InteropBundle interopBundle
    );

    /// @notice Calls cost another fee from now on.
    event InteropFeeUpdated(uint256 indexed oldFee, uint256 indexed newFee);

    error Unauthorized(address caller);
    error Reentered();
    error EmptyBundle();
    error TooManyCalls(uint256 count);
    error BundleTooLarge(uint256 length);
    error InvalidDestination(bytes destination);
    error DestinationChainNotRegistered(uint256 chainId);
    error InvalidRecipient(bytes recipient);
    error IndirectCallsOfIndirectCalls();
    error IndirectCallValueMismatch(uint256 expected, uint256 actual);
    error MsgValueMismatch(uint256 expected, uint256 actual);
    error PaymentFailed();
    error InvalidExecutor(bytes executor);

    /// @dev An initiator is any contract, and may call back.
    modifier alone() {
        if (_busy) revert Reentered();
        _busy = true;
        _;
        _busy = false;
    }

    /// @notice Send calls to another chain, which executes them together.
    /// @param destination The chain, as ERC-7930 has it without an address.
    /// @return The hash of the bundle.
    function sendBundle(
        bytes calldata destination,
        InteropCallStarter[] calldata starters,
        bytes[] calldata attributes
    ) external payable alone returns (bytes32) {
        (uint256 chainId, address account) = InteroperableAddress.parse(destination);
        if (account != address(0)) revert InvalidDestination(destination);
        return _send(chainId, starters, Attributes.ofBundle(attributes));
    }

    /// @notice Send one call to another chain (ERC-7786).
    /// @param recipient The address and its chain, as ERC-7930 has them.
    /// @return The id of the call.
    function sendMessage(
        bytes calldata recipient,
        bytes calldata payload,
        bytes[] calldata attributes
    ) external payable alone returns (bytes32) {
        (uint256 chainId, address account) = InteroperableAddress.parse(recipient);
        (bytes[] memory ofCall, bytes[] memory ofBundle) = Attributes.divide(attributes);
        InteropCallStarter[] memory starters = new InteropCallStarter[](1);
        starters[0] = InteropCallStarter({
            to: InteroperableAddress.format(account),
            data: payload,
            callAttributes: ofCall
        });
        return _sendId(_send(chainId, starters, Attributes.ofBundle(ofBundle)), 0);
    }

    /// @notice Set the fee for each call; only L1, which knows what ether costs in the base token.
    function setInteropFee(uint256 fee) external {
        address registrar = IInteropChains(L2_BRIDGEHUB).chainRegistrationSender();
        if (msg.sender != AddressAliasHelper.applyL1ToL2Alias(registrar)) {
            revert Unauthorized(msg.sender);
        }
        emit InteropFeeUpdated(interopProtocolFee, fee);
        interopProtocolFee = fee;
    }

    function _send(
        uint256 chainId,
        InteropCallStarter[] memory starters,
        BundleAttributes memory attributes
    ) private returns (bytes32 bundleHash) {
        if (starters.length == 0) revert EmptyBundle();
        if (starters.length > MAX_CALLS) revert TooManyCalls(starters.length);
        bytes32 baseToken = IInteropChains(L2_BRIDGEHUB).baseTokenAssetId(chainId);
        if (baseToken == bytes32(0) || chainId == block.chainid) {
            revert DestinationChainNotRegistered(chainId);
        }
        _checkExecutor(chainId, attributes.executionAddress);
        if (attributes.unbundlerAddress.length == 0) attributes.unbundlerAddress = _unbundler();

        InteropBundle memory bundle = InteropBundle({
            version: Bundles.VERSION,
            sourceChainId: block.chainid,
            destinationChainId: chainId,
            destinationBaseTokenAssetId: baseToken,
            interopBundleSalt: keccak256(
                abi.encodePacked(msg.sender, bytes32(interopBundleNonce[msg.sender]++))
            ),
            calls: new InteropCall[](starters.length),
            bundleAttributes: attributes
        });
        Totals memory totals;
        for (uint256 i = 0; i < starters.length; ++i) {
            bundle.calls[i] = _call(chainId, starters[i], totals);
        }
        // Of all calls together, since L1 moves it at once.
        Amounts.check(totals.values);
        _pay(chainId, baseToken, totals, starters.length);
        bundleHash = _emit(bundle, starters);
    }

    function _call(
        uint256 chainId,
        InteropCallStarter memory starter,
        Totals memory totals
    ) private returns (InteropCall memory call) {
        CallAttributes memory attributes = Attributes.ofCall(starter.callAttributes);
        call.version = Bundles.VERSION;
        call.from = msg.sender;
        call.value = attributes.value;
        totals.values += attributes.value;
        if (attributes.isIndirect) {
            totals.indirectValues += attributes.indirectValue;
            // An initiator is on this chain, and the call comes from it.
            call.from = _recipient(block.chainid, starter.to);
            starter = _initiate(chainId, call.from, starter.data, attributes);
        }
        call.to = _recipient(chainId, starter.to);
        call.data = starter.data;
    }

    function _initiate(
        uint256 chainId,
        address initiator,
        bytes memory data,
        CallAttributes memory attributes
    ) private returns (InteropCallStarter memory starter) {
        starter = IL2CrossChainInitiator(initiator).initiateIndirectCall{
            value: attributes.indirectValue
        }(chainId, msg.sender, attributes.value, data);
        CallAttributes memory returned = Attributes.ofCall(starter.callAttributes);
        if (returned.isIndirect) revert IndirectCallsOfIndirectCalls();
        if (returned.value != attributes.value) {
            revert IndirectCallValueMismatch(attributes.value, returned.value);
        }
    }

    /// @dev What leaves this chain goes to the holder, or is burnt as the bridged token that it is here.
    function _pay(uint256 chainId, bytes32 baseToken, Totals memory totals, uint256 calls) private {
        uint256 fees = interopProtocolFee * calls;
        bool isSame = baseToken == IInteropChains(L2_BRIDGEHUB).baseTokenAssetId(block.chainid);
        uint256 held = fees + (isSame ? totals.values : 0);
        if (msg.value != held + totals.indirectValues) {
            revert MsgValueMismatch(held + totals.indirectValues, msg.value);
        }
        burntFees += fees;
        if (!isSame && totals.values != 0) {
            IInteropRouter(L2_ASSET_ROUTER).burnBaseTokenOf(chainId, msg.sender, totals.values);
        }
        (bool success, ) = L2_BASE_TOKEN_HOLDER.call{value: held}("");
        if (!success) revert PaymentFailed();
    }

    function _emit(
        InteropBundle memory bundle,
        InteropCallStarter[] memory starters
    ) private returns (bytes32 bundleHash) {
        bytes memory encoded = abi.encode(bundle);
        _bytes += encoded.length;
        if (_bytes > MAX_BUNDLE_BYTES) revert BundleTooLarge(_bytes);
        bundleHash = Bundles.hash(block.chainid, encoded);
        bytes32 message = IL1Messenger(L2_MESSENGER).sendToL1(
            abi.encodePacked(Bundles.VERSION, encoded)
        );
        for (uint256 i = 0; i < starters.length; ++i) {
            InteropCall memory call = bundle.calls[i];
            emit MessageSent(
                _sendId(bundleHash, i),
                InteroperableAddress.format(block.chainid, call.from),
                InteroperableAddress.format(bundle.destinationChainId, call.to),
                call.data,
                call.value,
                starters[i].callAttributes
            );
        }
        emit InteropBundleSent(message, bundleHash, bundle);
    }

    /// @dev The sender, if it has a key, which is its own on every chain; a contract may be another one there.
    function _unbundler() private view returns (bytes memory) {
        // A contract has no code while it is constructed, but is never the origin of a transaction then.
        // solhint-disable-next-line avoid-tx-origin
        bool isUnfinished = msg.sender.code.length == 0 && msg.sender != tx.origin;
        return
            AccountCode.hasKey(msg.sender) && !isUnfinished
                ? InteroperableAddress.format(msg.sender)
                : InteroperableAddress.format(block.chainid, msg.sender);
    }

    /// @dev Nobody could execute a bundle whose executor is on another chain than its destination.
    function _checkExecutor(uint256 chainId, bytes memory executor) private pure {
        if (executor.length == 0) return;
        (uint256 named, ) = InteroperableAddress.parse(executor);
        if (named != 0 && named != chainId) revert InvalidExecutor(executor);
    }

    function _recipient(uint256 expected, bytes memory encoded) private pure returns (address) {
        (uint256 chainId, address account) = InteroperableAddress.parse(encoded);
        bool isThere = chainId == 0 || chainId == expected;
        if (!isThere || account == address(0) || account == L2_INTEROP_HANDLER) {
            revert InvalidRecipient(encoded);
        }
        return account;
    }

    function _sendId(bytes32 bundleHash, uint256 index) private pure returns (bytes32) {
        return keccak256(abi.encodePacked(bundleHash, index));
    }
}
