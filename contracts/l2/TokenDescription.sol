// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {DataEncoding} from "../shared/DataEncoding.sol";

/// @notice Reading what tokens say about themselves.
/// @dev A token may say nothing or nonsense, and its deposit must succeed all the same: whatever cannot
/// be read is left out.
library TokenDescription {
    /// @dev Longer texts are cut, so that storing them has a price that a deposit can pay.
    uint256 internal constant LONGEST_TEXT = 128;
    /// @dev What wallets assume of a token that does not say.
    uint8 internal constant USUAL_DECIMALS = 18;
    bytes1 private constant OLD_VERSION = 0x00;

    /// @notice Take apart what came with a deposit, in the encoding of today or in that of old bridges.
    /// @param l1ChainId Where a token lives that came without saying it.
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

    /// @notice Read the answer of `name` or `symbol`: a string, or the 32 bytes of the first tokens.
    function readText(bytes memory answer) internal pure returns (string memory) {
        uint256 start;
        uint256 size;
        if (answer.length == 32) {
            while (size < 32 && answer[size] != 0) ++size;
        } else if (answer.length >= 64 && _word(answer, 0) == 32) {
            start = 64;
            size = _word(answer, 32);
            if (size > answer.length - start) return "";
        }
        return _slice(answer, start, _cut(answer, start, size));
    }

    /// @notice Read the answer of `decimals`.
    function readDecimals(bytes memory answer) internal pure returns (uint8) {
        if (answer.length < 32) return USUAL_DECIMALS;
        uint256 value = _word(answer, 0);
        return value > type(uint8).max ? USUAL_DECIMALS : uint8(value);
    }

    /// @dev The size to cut a text to; a character of several bytes stays whole or goes.
    function _cut(bytes memory answer, uint256 start, uint256 size) private pure returns (uint256) {
        if (size <= LONGEST_TEXT) return size;
        size = LONGEST_TEXT;
        while (size > 0 && answer[start + size] & 0xc0 == 0x80) --size;
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
