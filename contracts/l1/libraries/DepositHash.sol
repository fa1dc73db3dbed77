// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {DataEncoding} from "../../shared/DataEncoding.sol";

/// @notice Names of deposits: what has to be said again, exactly, by whoever claims one back.
library DepositHash {
    /// @dev First byte of the data of a deposit that names an asset.
    bytes1 internal constant VERSION = 0x01;

    /// @notice The name of a deposit of an asset.
    function hash(
        address originalCaller,
        bytes32 assetId,
        bytes memory burnData
    ) internal pure returns (bytes32) {
        return keccak256(bytes.concat(VERSION, abi.encode(originalCaller, assetId, burnData)));
    }

    /// @notice The name of a deposit that was asked for by token and amount, as before assets.
    function legacyHash(
        address originalCaller,
        address token,
        bytes memory burnData
    ) internal pure returns (bytes32) {
        (uint256 amount, , ) = DataEncoding.decodeBurn(burnData);
        return keccak256(abi.encode(originalCaller, token, amount));
    }
}
