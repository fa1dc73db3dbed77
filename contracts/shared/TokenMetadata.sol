// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {ETH_TOKEN} from "./Addresses.sol";
import {DataEncoding} from "./DataEncoding.sol";
import {IERC20} from "./IERC20.sol";

/// @notice The metadata of a token for the other layer, whatever it returns.
library TokenMetadata {
    /// @dev The other layer pays for every byte of the metadata; longer return data counts as none.
    uint256 internal constant MAX_RETURN_SIZE = 512;
    /// @dev Enough for any honest token. A call that gets less leaves a 63rd of it to its caller, who needs more
    /// for the rest: nobody can provide so little gas that a token seems to return nothing and the transfer
    /// still succeeds.
    uint256 internal constant MAX_GAS = 50_000;

    /// @notice The metadata for the other layer; what the token does not return is empty there.
    function describe(address token, uint256 originChainId) internal view returns (bytes memory) {
        if (token == ETH_TOKEN) {
            return
                DataEncoding.encodeTokenData(
                    originChainId,
                    abi.encode("Ether"),
                    abi.encode("ETH"),
                    abi.encode(uint8(18))
                );
        }
        return
            DataEncoding.encodeTokenData(
                originChainId,
                _query(token, IERC20.name.selector),
                _query(token, IERC20.symbol.selector),
                _query(token, IERC20.decimals.selector)
            );
    }

    /// @notice What the other layer returned for a token, or nothing if it is too long to be stored.
    function limit(bytes memory returnData) internal pure returns (bytes memory) {
        return returnData.length > MAX_RETURN_SIZE ? bytes("") : returnData;
    }

    /// @dev Checks the size of the return data before copying it, so that the sender does not pay for its memory.
    function _query(address token, bytes4 selector) private view returns (bytes memory returnData) {
        uint256 maxSize = MAX_RETURN_SIZE;
        uint256 maxGas = MAX_GAS;
        assembly ("memory-safe") {
            mstore(0x00, selector)
            let success := staticcall(maxGas, token, 0x00, 0x04, 0x00, 0x00)
            let size := returndatasize()
            if or(iszero(success), gt(size, maxSize)) {
                size := 0
            }
            returnData := mload(0x40)
            mstore(returnData, size)
            returndatacopy(add(returnData, 0x20), 0x00, size)
            mstore(0x40, and(add(add(returnData, size), 0x3f), not(0x1f)))
        }
    }
}
