// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2Message} from "./Messaging.sol";

/// @notice A root over all chains: that of a block of L1.
struct InteropRoot {
    uint256 chainId;
    uint256 blockOrBatchNumber;
    uint256 timestamp;
    bytes32[] sides;
}

/// @notice A call as its sender gives it; the recipient is an address of ERC-7930.
struct InteropCallStarter {
    bytes to;
    bytes data;
    bytes[] callAttributes;
}

/// @notice A message of another chain, and the proof that it was sent.
struct MessageInclusionProof {
    uint256 chainId;
    uint256 l1BatchNumber;
    uint256 l2MessageIndex;
    L2Message message;
    bytes32[] proof;
}

/// @notice A call of a bundle, which the destination makes in the name of `from` on the source.
struct InteropCall {
    bytes1 version;
    bool shadowAccount;
    address to;
    address from;
    uint256 value;
    bytes data;
}

/// @notice Who may execute a bundle and who may cancel its calls; addresses of ERC-7930, empty for anyone and no one.
struct BundleAttributes {
    bytes executionAddress;
    bytes unbundlerAddress;
    bool useFixedFee;
}

/// @notice Calls from one chain to another, which are executed together.
struct InteropBundle {
    bytes1 version;
    uint256 sourceChainId;
    uint256 destinationChainId;
    bytes32 destinationBaseTokenAssetId;
    bytes32 interopBundleSalt;
    InteropCall[] calls;
    BundleAttributes bundleAttributes;
}

/// @notice The encoding of bundles, in which they are sent, hashed and executed.
library Bundles {
    /// @dev The first byte of a message that is a bundle, too.
    bytes1 internal constant VERSION = 0x01;

    error BundleNotCanonical();
    error UnsupportedBundleVersion(bytes1 version);
    error ShadowAccountsNotSupported();

    /// @notice The hash that identifies a bundle.
    function hash(uint256 sourceChainId, bytes memory bundle) internal pure returns (bytes32) {
        return keccak256(abi.encode(sourceChainId, bundle));
    }

    /// @notice The bundle in a message; there is one encoding of each, so that no bundle has two hashes.
    function ofMessage(bytes calldata message) internal pure returns (InteropBundle memory) {
        if (message.length == 0 || message[0] != VERSION) {
            revert UnsupportedBundleVersion(message.length == 0 ? bytes1(0) : message[0]);
        }
        return decode(message[1:]);
    }

    /// @notice Decode a bundle.
    function decode(bytes calldata encoded) internal pure returns (InteropBundle memory bundle) {
        bundle = abi.decode(encoded, (InteropBundle));
        if (keccak256(abi.encode(bundle)) != keccak256(encoded)) revert BundleNotCanonical();
        if (bundle.version != VERSION) revert UnsupportedBundleVersion(bundle.version);
        for (uint256 i = 0; i < bundle.calls.length; ++i) {
            InteropCall memory call = bundle.calls[i];
            if (call.version != VERSION) revert UnsupportedBundleVersion(call.version);
            if (call.shadowAccount) revert ShadowAccountsNotSupported();
        }
    }
}
