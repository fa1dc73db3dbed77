// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {DataEncoding} from "../../shared/DataEncoding.sol";

/// @notice Hashes of deposits, whose preimage a claim of a refund must repeat exactly.
library DepositHash {
    /// @dev First byte of the data of a deposit by asset id.
    bytes1 internal constant VERSION = 0x01;

    /// @notice The hash of a deposit by asset id.
    function hash(
        address originalCaller,
        bytes32 assetId,
        bytes memory burnData
    ) internal pure returns (bytes32) {
        return keccak256(bytes.concat(VERSION, abi.encode(originalCaller, assetId, burnData)));
    }

    /// @notice The hash of a deposit in the legacy encoding: by token and amount.
    function legacyHash(
        address originalCaller,
        address token,
        bytes memory burnData
    ) internal pure returns (bytes32) {
        (uint256 amount, , ) = DataEncoding.decodeBurn(burnData);
        return keccak256(abi.encode(originalCaller, token, amount));
    }
}
