// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {BundleAttributes} from "../../shared/Interop.sol";
import {InteroperableAddress} from "../../shared/InteroperableAddress.sol";
import {Tail} from "../../shared/Tail.sol";

/// @notice What a call of a bundle has beside its recipient and data.
struct CallAttributes {
    uint256 value;
    bool isIndirect;
    uint256 indirectValue;
}

/// @notice The attributes, by their selectors; nothing calls them.
interface IAttributes {
    /// @notice The native value of a call.
    function interopCallValue(uint256 value) external;

    /// @notice The recipient makes the call itself, and gets `messageValue` for it.
    function indirectCall(uint256 messageValue) external;

    /// @notice Who may execute a bundle.
    function executionAddress(bytes calldata account) external;

    /// @notice Who may cancel calls of a bundle.
    function unbundlerAddress(bytes calldata account) external;

    /// @notice Pay in the protocol's own token.
    function useFixedFee(bool isFixed) external;
}

/// @notice Reads the attributes of calls and bundles: a selector with its arguments, each at most once.
library Attributes {
    uint256 private constant SELECTOR_SIZE = 4;
    uint256 private constant ADDRESS_SIZE = 20;

    error UnsupportedAttribute(bytes4 selector);
    error AttributeRepeated(bytes4 selector);
    error AttributeMalformed(bytes attribute);
    error FixedFeeNotSupported();

    /// @notice Read the attributes of a call.
    function ofCall(bytes[] memory attributes) internal pure returns (CallAttributes memory found) {
        bool hasValue = false;
        for (uint256 i = 0; i < attributes.length; ++i) {
            bytes4 selector = bytes4(attributes[i]);
            if (selector == IAttributes.interopCallValue.selector) {
                if (hasValue) revert AttributeRepeated(selector);
                hasValue = true;
                found.value = _number(attributes[i]);
            } else if (selector == IAttributes.indirectCall.selector) {
                if (found.isIndirect) revert AttributeRepeated(selector);
                found.isIndirect = true;
                found.indirectValue = _number(attributes[i]);
            } else {
                revert UnsupportedAttribute(selector);
            }
        }
    }

    /// @notice Read the attributes of a bundle; one that this chain cannot keep is rejected here, not at its execution.
    function ofBundle(
        bytes[] memory attributes
    ) internal pure returns (BundleAttributes memory found) {
        bool hasFee = false;
        for (uint256 i = 0; i < attributes.length; ++i) {
            bytes4 selector = bytes4(attributes[i]);
            if (selector == IAttributes.executionAddress.selector) {
                if (found.executionAddress.length != 0) revert AttributeRepeated(selector);
                found.executionAddress = _account(attributes[i]);
            } else if (selector == IAttributes.unbundlerAddress.selector) {
                if (found.unbundlerAddress.length != 0) revert AttributeRepeated(selector);
                found.unbundlerAddress = _account(attributes[i]);
            } else if (selector == IAttributes.useFixedFee.selector) {
                if (hasFee) revert AttributeRepeated(selector);
                hasFee = true;
                if (_number(attributes[i]) != 0) revert FixedFeeNotSupported();
            } else {
                revert UnsupportedAttribute(selector);
            }
        }
    }

    /// @notice Divide the attributes of a message into those of its call and those of its bundle.
    function divide(
        bytes[] memory attributes
    ) internal pure returns (bytes[] memory call, bytes[] memory bundle) {
        uint256 count = 0;
        for (uint256 i = 0; i < attributes.length; ++i) if (_isOfCall(attributes[i])) ++count;
        call = new bytes[](count);
        bundle = new bytes[](attributes.length - count);
        for (uint256 i = attributes.length; i != 0; --i) {
            bytes memory attribute = attributes[i - 1];
            if (_isOfCall(attribute)) {
                call[--count] = attribute;
            } else {
                bundle[i - 1 - count] = attribute;
            }
        }
    }

    function _isOfCall(bytes memory attribute) private pure returns (bool) {
        bytes4 selector = bytes4(attribute);
        return
            selector == IAttributes.interopCallValue.selector ||
            selector == IAttributes.indirectCall.selector;
    }

    function _number(bytes memory attribute) private pure returns (uint256) {
        if (attribute.length != SELECTOR_SIZE + 32) revert AttributeMalformed(attribute);
        return abi.decode(Tail.from(attribute, SELECTOR_SIZE), (uint256));
    }

    /// @dev Twenty bare bytes are an address of the destination, as clients send it.
    function _account(bytes memory attribute) private pure returns (bytes memory) {
        if (attribute.length < SELECTOR_SIZE + 64) revert AttributeMalformed(attribute);
        bytes memory arguments = Tail.from(attribute, SELECTOR_SIZE);
        bytes memory encoded = abi.decode(arguments, (bytes));
        if (keccak256(abi.encode(encoded)) != keccak256(arguments)) {
            revert AttributeMalformed(attribute);
        }
        if (encoded.length == ADDRESS_SIZE) {
            encoded = InteroperableAddress.format(address(bytes20(encoded)));
        }
        (, address account) = InteroperableAddress.parse(encoded);
        if (account == address(0)) revert AttributeMalformed(attribute);
        return encoded;
    }
}
