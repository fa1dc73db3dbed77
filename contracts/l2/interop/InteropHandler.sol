// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {
    L2_BASE_TOKEN_HOLDER,
    L2_BRIDGEHUB,
    L2_INTEROP_CENTER,
    L2_MESSAGE_VERIFICATION
} from "../../shared/Addresses.sol";
import {Bundles, InteropBundle, InteropCall, MessageInclusionProof} from "../../shared/Interop.sol";
import {InteroperableAddress} from "../../shared/InteroperableAddress.sol";
import {
    IBaseTokenHolder,
    IERC7786Recipient,
    IInteropChains,
    IMessageVerification
} from "../interfaces/IInterop.sol";
import {AccountCode} from "../libraries/AccountCode.sol";

/// @notice Executes bundles of other chains, once each.
contract InteropHandler {
    /// @notice What has happened to a bundle.
    enum BundleStatus {
        Unreceived,
        Verified,
        FullyExecuted,
        Unbundled
    }

    /// @notice What has happened to a call.
    enum CallStatus {
        Unprocessed,
        Executed,
        Cancelled
    }

    /// @notice What has happened to a bundle, by its hash.
    mapping(bytes32 bundleHash => BundleStatus) public bundleStatus;
    /// @notice What has happened to a call of a bundle.
    mapping(bytes32 bundleHash => mapping(uint256 index => CallStatus)) public callStatus;

    /// @notice A bundle was proven to be sent.
    event BundleVerified(bytes32 indexed bundleHash);
    /// @notice All calls of a bundle were executed.
    event BundleExecuted(bytes32 indexed bundleHash);
    /// @notice Some calls of a bundle were executed or cancelled one by one.
    event BundleUnbundled(bytes32 indexed bundleHash);
    /// @notice A call was executed or cancelled.
    event CallProcessed(bytes32 indexed bundleHash, uint256 indexed callIndex, CallStatus status);

    error Unauthorized(address caller);
    error WrongSourceChain(uint256 expected, uint256 actual);
    error InvalidSourceChain(uint256 chainId);
    error WrongDestinationChain(bytes32 bundleHash, uint256 expected, uint256 actual);
    error WrongDestinationBaseToken(bytes32 expected, bytes32 actual);
    error MessageNotOfInteropCenter(address sender);
    error MessageNotOfBundle(bytes32 bundleHash);
    error MessageNotIncluded();
    error BundleAlreadyProcessed(bytes32 bundleHash);
    error BundleNotVerified(bytes32 bundleHash);
    error ExecutingNotAllowed(bytes32 bundleHash, address caller, bytes allowed);
    error UnbundlingNotAllowed(bytes32 bundleHash, address caller, bytes allowed);
    error WrongCallStatusLength(uint256 calls, uint256 statuses);
    error CallAlreadyProcessed(bytes32 bundleHash, uint256 callIndex);
    error InvalidCallTarget(address target);
    error NoCodeAtTarget(address target);
    error InvalidSelector(address target, bytes4 returned);
    error PaymentFailed(address target);

    /// @notice Take native value from the holder.
    receive() external payable {
        if (msg.sender != L2_BASE_TOKEN_HOLDER) revert Unauthorized(msg.sender);
    }

    /// @notice Execute all calls of a bundle; none is executed if one reverts.
    function executeBundle(bytes calldata bundle, MessageInclusionProof calldata proof) external {
        (bytes32 bundleHash, InteropBundle memory decoded) = _read(bundle, proof.chainId);
        bytes memory allowed = decoded.bundleAttributes.executionAddress;
        if (allowed.length != 0 && !_isCaller(allowed)) {
            revert ExecutingNotAllowed(bundleHash, msg.sender, allowed);
        }
        _receive(bundleHash, bundle, proof);
        // Before the calls, whose targets may execute what they like.
        bundleStatus[bundleHash] = BundleStatus.FullyExecuted;
        for (uint256 i = 0; i < decoded.calls.length; ++i) _execute(bundleHash, decoded, i);
        emit BundleExecuted(bundleHash);
    }

    /// @notice Prove that a bundle was sent, so that its calls can be executed or cancelled one by one.
    function verifyBundle(bytes calldata bundle, MessageInclusionProof calldata proof) external {
        (bytes32 bundleHash, ) = _read(bundle, proof.chainId);
        if (bundleStatus[bundleHash] != BundleStatus.Unreceived) {
            revert BundleAlreadyProcessed(bundleHash);
        }
        _receive(bundleHash, bundle, proof);
    }

    /// @notice Execute or cancel calls of a verified bundle one by one; what a cancelled call has is lost.
    /// @param statuses For each call: skip it, execute it, cancel it.
    function unbundleBundle(
        uint256 sourceChainId,
        bytes calldata bundle,
        CallStatus[] calldata statuses
    ) external {
        (bytes32 bundleHash, InteropBundle memory decoded) = _read(bundle, sourceChainId);
        BundleStatus status = bundleStatus[bundleHash];
        if (status != BundleStatus.Verified && status != BundleStatus.Unbundled) {
            revert BundleNotVerified(bundleHash);
        }
        bytes memory allowed = decoded.bundleAttributes.unbundlerAddress;
        if (!_isCaller(allowed)) revert UnbundlingNotAllowed(bundleHash, msg.sender, allowed);
        if (statuses.length != decoded.calls.length) {
            revert WrongCallStatusLength(decoded.calls.length, statuses.length);
        }
        bundleStatus[bundleHash] = BundleStatus.Unbundled;
        for (uint256 i = 0; i < statuses.length; ++i) {
            if (statuses[i] == CallStatus.Unprocessed) continue;
            if (callStatus[bundleHash][i] != CallStatus.Unprocessed) {
                revert CallAlreadyProcessed(bundleHash, i);
            }
            if (statuses[i] == CallStatus.Executed) {
                _execute(bundleHash, decoded, i);
            } else {
                callStatus[bundleHash][i] = CallStatus.Cancelled;
                emit CallProcessed(bundleHash, i, CallStatus.Cancelled);
            }
        }
        emit BundleUnbundled(bundleHash);
    }

    function _read(
        bytes calldata encoded,
        uint256 source
    ) private view returns (bytes32 bundleHash, InteropBundle memory bundle) {
        bundle = Bundles.decode(encoded);
        bundleHash = Bundles.hash(source, encoded);
        if (bundle.sourceChainId != source) revert WrongSourceChain(source, bundle.sourceChainId);
        IInteropChains chains = IInteropChains(L2_BRIDGEHUB);
        if (source == block.chainid || source == chains.L1_CHAIN_ID()) {
            revert InvalidSourceChain(source);
        }
        if (bundle.destinationChainId != block.chainid) {
            revert WrongDestinationChain(bundleHash, bundle.destinationChainId, block.chainid);
        }
        bytes32 baseToken = chains.baseTokenAssetId(block.chainid);
        if (bundle.destinationBaseTokenAssetId != baseToken) {
            revert WrongDestinationBaseToken(baseToken, bundle.destinationBaseTokenAssetId);
        }
    }

    /// @dev A bundle is proven once; later its hash is enough.
    function _receive(
        bytes32 bundleHash,
        bytes calldata bundle,
        MessageInclusionProof calldata proof
    ) private {
        BundleStatus status = bundleStatus[bundleHash];
        if (status == BundleStatus.Verified) return;
        if (status != BundleStatus.Unreceived) revert BundleAlreadyProcessed(bundleHash);
        if (proof.message.sender != L2_INTEROP_CENTER) {
            revert MessageNotOfInteropCenter(proof.message.sender);
        }
        if (keccak256(proof.message.data) != keccak256(abi.encodePacked(Bundles.VERSION, bundle))) {
            revert MessageNotOfBundle(bundleHash);
        }
        bool isIncluded = IMessageVerification(L2_MESSAGE_VERIFICATION)
            .proveL2MessageInclusionShared(
                proof.chainId,
                proof.l1BatchNumber,
                proof.l2MessageIndex,
                proof.message,
                proof.proof
            );
        if (!isIncluded) revert MessageNotIncluded();
        bundleStatus[bundleHash] = BundleStatus.Verified;
        emit BundleVerified(bundleHash);
    }

    function _execute(bytes32 bundleHash, InteropBundle memory bundle, uint256 index) private {
        callStatus[bundleHash][index] = CallStatus.Executed;
        InteropCall memory call = bundle.calls[index];
        if (call.to == address(this)) revert InvalidCallTarget(call.to);
        if (call.value != 0) IBaseTokenHolder(L2_BASE_TOKEN_HOLDER).give(call.value);
        if (!_isPayment(call)) {
            bytes4 returned = IERC7786Recipient(call.to).receiveMessage{value: call.value}(
                keccak256(abi.encodePacked(bundleHash, index)),
                InteroperableAddress.format(bundle.sourceChainId, call.from),
                call.data
            );
            if (returned != IERC7786Recipient.receiveMessage.selector) {
                revert InvalidSelector(call.to, returned);
            }
        } else {
            if (call.data.length != 0) revert NoCodeAtTarget(call.to);
            (bool success, ) = call.to.call{value: call.value}("");
            if (!success) revert PaymentFailed(call.to);
        }
        emit CallProcessed(bundleHash, index, CallStatus.Executed);
    }

    /// @dev An account with a key takes value, and nothing else. If it delegates to code, it takes messages too; that
    /// the code knows none must not keep value from it.
    function _isPayment(InteropCall memory call) private view returns (bool) {
        if (call.to.code.length == 0) return true;
        return call.data.length == 0 && AccountCode.hasKey(call.to);
    }

    /// @dev Whether the caller has this address, and the address is on this chain or on any.
    function _isCaller(bytes memory allowed) private view returns (bool) {
        (uint256 chainId, address account) = InteroperableAddress.parse(allowed);
        return account == msg.sender && (chainId == 0 || chainId == block.chainid);
    }
}
