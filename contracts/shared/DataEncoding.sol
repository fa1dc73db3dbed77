// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_NATIVE_TOKEN_VAULT} from "./Addresses.sol";

/// @notice Encodings that the bridges of L1 and L2 exchange.
library DataEncoding {
    /// @dev First byte of the metadata of a token: the version of its encoding.
    bytes1 internal constant TOKEN_DATA_VERSION = 0x01;

    error TokenDataOfUnknownVersion();

    /// @notice The asset id, on both layers, of a token whose origin is `originChainId`.
    function assetId(uint256 originChainId, address token) internal pure returns (bytes32) {
        return keccak256(abi.encode(originChainId, L2_NATIVE_TOKEN_VAULT, token));
    }

    /// @notice The data of a deposit or withdrawal for a vault: collect `amount` for `receiver`.
    /// @param token The token's address on this layer, or zero where the asset id is enough.
    function encodeBurn(
        uint256 amount,
        address receiver,
        address token
    ) internal pure returns (bytes memory) {
        return abi.encode(amount, receiver, token);
    }

    /// @notice Decode the data of `encodeBurn`.
    function decodeBurn(
        bytes memory data
    ) internal pure returns (uint256 amount, address receiver, address token) {
        return abi.decode(data, (uint256, address, address));
    }

    /// @notice The data that the collecting vault sends to the vault of the other layer.
    /// @param originToken The token's address on its origin chain.
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

    /// @notice Decode the data of `encodeMint`.
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

    /// @notice The data of `encodeMint` with another caller.
    function withCaller(bytes memory data, address caller) internal pure returns (bytes memory) {
        (
            ,
            address receiver,
            address originToken,
            uint256 amount,
            bytes memory metadata
        ) = decodeMint(data);
        return encodeMint(caller, receiver, originToken, amount, metadata);
    }

    /// @notice Encode a token's metadata: the raw return data of its `name`, `symbol` and `decimals`.
    /// @dev It is not decoded, because a token may return invalid data, and the layer of the bridged
    /// token decides how to handle that.
    function encodeTokenData(
        uint256 originChainId,
        bytes memory name,
        bytes memory symbol,
        bytes memory decimals
    ) internal pure returns (bytes memory) {
        return bytes.concat(TOKEN_DATA_VERSION, abi.encode(originChainId, name, symbol, decimals));
    }

    /// @notice Decode the data of `encodeTokenData`.
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
