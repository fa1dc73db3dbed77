// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_NATIVE_TOKEN_VAULT} from "./Addresses.sol";

/// @notice What the bridges of the two layers write to each other.
library DataEncoding {
    /// @dev First byte of the metadata of a token: the version of its encoding.
    bytes1 internal constant TOKEN_DATA_VERSION = 0x01;

    error TokenDataOfUnknownVersion();

    /// @notice The id under which both layers know a token that lives on `originChainId`.
    function assetId(uint256 originChainId, address token) internal pure returns (bytes32) {
        return keccak256(abi.encode(originChainId, L2_NATIVE_TOKEN_VAULT, token));
    }

    /// @notice What a depositor or withdrawer asks of a vault: take `amount`, to be given to `receiver`.
    /// @param token The token's address on this layer, or zero where the asset id is enough.
    function encodeBurn(
        uint256 amount,
        address receiver,
        address token
    ) internal pure returns (bytes memory) {
        return abi.encode(amount, receiver, token);
    }

    /// @notice Read what `encodeBurn` wrote.
    function decodeBurn(
        bytes memory data
    ) internal pure returns (uint256 amount, address receiver, address token) {
        return abi.decode(data, (uint256, address, address));
    }

    /// @notice What the vault that took tokens tells the vault of the other layer.
    /// @param originToken The token's address on the chain it lives on.
    /// @param metadata See `encodeTokenData`; may be empty.
    function encodeMint(
        address originalCaller,
        address receiver,
        address originToken,
        uint256 amount,
        bytes memory metadata
    ) internal pure returns (bytes memory) {
        return abi.encode(originalCaller, receiver, originToken, amount, metadata);
    }

    /// @notice Read what `encodeMint` wrote.
    function decodeMint(
        bytes memory data
    )
        internal
        pure
        returns (
            address originalCaller,
            address receiver,
            address originToken,
            uint256 amount,
            bytes memory metadata
        )
    {
        return abi.decode(data, (address, address, address, uint256, bytes));
    }

    /// @notice Describe a token by the raw answers of its `name`, `symbol` and `decimals`.
    /// @dev They stay undecoded, because a token may answer nonsense, and the layer that makes the
    /// bridged token decides what to do about it.
    function encodeTokenData(
        uint256 originChainId,
        bytes memory name,
        bytes memory symbol,
        bytes memory decimals
    ) internal pure returns (bytes memory) {
        return bytes.concat(TOKEN_DATA_VERSION, abi.encode(originChainId, name, symbol, decimals));
    }

    /// @notice Read what `encodeTokenData` wrote.
    function decodeTokenData(
        bytes calldata data
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
        if (data.length == 0 || data[0] != TOKEN_DATA_VERSION) revert TokenDataOfUnknownVersion();
        return abi.decode(data[1:], (uint256, bytes, bytes, bytes));
    }
}
