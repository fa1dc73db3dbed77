// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice A contract of L1 acts on L2 under another address, so that it cannot be taken for the
/// account that has its address there.
library AddressAliasHelper {
    uint160 internal constant OFFSET = uint160(0x1111000000000000000000000000000000001111);

    /// @notice The address under which the contract `l1Address` acts on L2.
    function applyL1ToL2Alias(address l1Address) internal pure returns (address) {
        unchecked {
            return address(uint160(l1Address) + OFFSET);
        }
    }

    /// @notice The contract of L1 that acts on L2 as `l2Address`.
    function undoL1ToL2Alias(address l2Address) internal pure returns (address) {
        unchecked {
            return address(uint160(l2Address) - OFFSET);
        }
    }
}
