// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Addresses with or without a chain, as ERC-7930 encodes them; of EVM chains only.
library InteroperableAddress {
    /// @dev Version 1 of the encoding, and the type of EVM chains.
    bytes4 internal constant PREFIX = 0x00010000;
    uint256 private constant LENGTH_AT = 4;
    uint256 private constant ADDRESS_SIZE = 20;

    error InvalidInteroperableAddress(bytes encoded);

    /// @notice Read an address and its chain; either is 0 if it is not there. A chain has no leading zeros, so that
    /// there is one encoding of each, and none that says zero, which is nobody's address.
    function parse(bytes memory encoded) internal pure returns (uint256 chainId, address account) {
        bool hasHead = encoded.length > LENGTH_AT && bytes4(encoded) == PREFIX;
        if (!hasHead) revert InvalidInteroperableAddress(encoded);
        uint256 chainSize = uint8(encoded[LENGTH_AT]);
        uint256 sizeAt = LENGTH_AT + 1 + chainSize;
        if (chainSize > 32 || encoded.length <= sizeAt) revert InvalidInteroperableAddress(encoded);
        uint256 size = uint8(encoded[sizeAt]);
        bool hasEnd = (size == 0 || size == ADDRESS_SIZE) && encoded.length == sizeAt + 1 + size;
        if (!hasEnd) revert InvalidInteroperableAddress(encoded);
        if (chainSize != 0 && encoded[LENGTH_AT + 1] == 0) {
            revert InvalidInteroperableAddress(encoded);
        }
        chainId = _number(encoded, LENGTH_AT + 1, chainSize);
        account = address(uint160(_number(encoded, sizeAt + 1, size)));
        if (size != 0 && account == address(0)) revert InvalidInteroperableAddress(encoded);
    }

    /// @notice Encode an address on a chain.
    function format(uint256 chainId, address account) internal pure returns (bytes memory) {
        uint256 size = 0;
        for (uint256 rest = chainId; rest != 0; rest >>= 8) ++size;
        bytes memory id = new bytes(size);
        for (uint256 i = size; i != 0; --i) {
            id[i - 1] = bytes1(uint8(chainId));
            chainId >>= 8;
        }
        return abi.encodePacked(PREFIX, uint8(size), id, uint8(ADDRESS_SIZE), account);
    }

    /// @notice Encode an address on whatever chain it is read.
    function format(address account) internal pure returns (bytes memory) {
        return abi.encodePacked(PREFIX, uint8(0), uint8(ADDRESS_SIZE), account);
    }

    function _number(
        bytes memory encoded,
        uint256 start,
        uint256 size
    ) private pure returns (uint256 number) {
        for (uint256 i = start; i < start + size; ++i) number = (number << 8) | uint8(encoded[i]);
    }
}
