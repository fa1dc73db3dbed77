// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {DataEncoding} from "../shared/DataEncoding.sol";

/// @notice Decodes the metadata of tokens.
/// @dev A token may return nothing or invalid data, and its deposit must succeed nevertheless: what cannot be
/// decoded is left empty.
library TokenDescription {
    /// @dev Longer strings are truncated, so that a deposit can pay for storing them.
    uint256 internal constant LONGEST_TEXT = 128;
    /// @dev What wallets assume for a token without decimals.
    uint8 internal constant USUAL_DECIMALS = 18;
    bytes1 private constant OLD_VERSION = 0x00;

    /// @notice Decode the metadata of a deposit, in the current or the legacy encoding.
    /// @param l1ChainId The origin chain of a token in the legacy encoding, which has none.
    function decode(
        bytes calldata data,
        uint256 l1ChainId
    )
        internal
        pure
        returns (
            uint256 originChainId,
            bytes memory name,
            bytes memory symbol,
            bytes memory decimals
        )
    {
        if (data.length == 0 || data[0] != OLD_VERSION) return DataEncoding.decodeTokenData(data);
        originChainId = l1ChainId;
        (name, symbol, decimals) = abi.decode(data, (bytes, bytes, bytes));
    }

    /// @notice Decode the return data of `name` or `symbol`: a string, or 32 bytes as of early tokens.
    function readText(bytes memory returnData) internal pure returns (string memory) {
        uint256 start;
        uint256 size;
        if (returnData.length == 32) {
            while (size < 32 && returnData[size] != 0) ++size;
        } else if (returnData.length >= 64 && _word(returnData, 0) == 32) {
            start = 64;
            size = _word(returnData, 32);
            if (size > returnData.length - start) return "";
        }
        return _slice(returnData, start, _cut(returnData, start, size));
    }

    /// @notice Decode the return data of `decimals`.
    function readDecimals(bytes memory returnData) internal pure returns (uint8) {
        if (returnData.length < 32) return USUAL_DECIMALS;
        uint256 value = _word(returnData, 0);
        return value > type(uint8).max ? USUAL_DECIMALS : uint8(value);
    }

    /// @dev The size to truncate a string to, without splitting a UTF-8 character.
    function _cut(
        bytes memory returnData,
        uint256 start,
        uint256 size
    ) private pure returns (uint256) {
        if (size <= LONGEST_TEXT) return size;
        size = LONGEST_TEXT;
        while (size > 0 && returnData[start + size] & 0xc0 == 0x80) --size;
        return size;
    }

    function _word(bytes memory source, uint256 position) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := mload(add(add(source, 0x20), position))
        }
    }

    function _slice(
        bytes memory source,
        uint256 start,
        uint256 size
    ) private pure returns (string memory text) {
        text = new string(size);
        assembly ("memory-safe") {
            mcopy(add(text, 0x20), add(add(source, 0x20), start), size)
        }
    }
}
