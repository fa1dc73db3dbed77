// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {ETH_TOKEN} from "../../shared/Addresses.sol";
import {DataEncoding} from "../../shared/DataEncoding.sol";
import {IERC20} from "../../shared/IERC20.sol";

/// @notice How a token describes itself, whatever it answers.
library TokenMetadata {
    /// @dev A deposit pays for every byte of the description; a longer answer counts as none.
    uint256 internal constant MAX_ANSWER = 512;

    /// @notice The description that goes to L2; what the token does not answer is empty there.
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
                _ask(token, IERC20.name.selector),
                _ask(token, IERC20.symbol.selector),
                _ask(token, IERC20.decimals.selector)
            );
    }

    /// @dev Copies the answer only after a look at its size, so that a huge one costs the depositor no memory.
    function _ask(address token, bytes4 selector) private view returns (bytes memory answer) {
        uint256 limit = MAX_ANSWER;
        assembly ("memory-safe") {
            mstore(0x00, selector)
            let success := staticcall(gas(), token, 0x00, 0x04, 0x00, 0x00)
            let size := returndatasize()
            if or(iszero(success), gt(size, limit)) {
                size := 0
            }
            answer := mload(0x40)
            mstore(answer, size)
            returndatacopy(add(answer, 0x20), 0x00, size)
            mstore(0x40, and(add(add(answer, size), 0x3f), not(0x1f)))
        }
    }
}
