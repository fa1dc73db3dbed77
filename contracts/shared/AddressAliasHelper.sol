// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice The alias under which an L1 contract sends transactions on L2, where another party may control
/// the account with the contract's own address.
library AddressAliasHelper {
    uint160 internal constant OFFSET = uint160(0x1111000000000000000000000000000000001111);

    /// @notice The L2 alias of the L1 contract `l1Address`.
    function applyL1ToL2Alias(address l1Address) internal pure returns (address) {
        unchecked {
            return address(uint160(l1Address) + OFFSET);
        }
    }

    /// @notice The L1 contract whose L2 alias is `l2Address`.
    function undoL1ToL2Alias(address l2Address) internal pure returns (address) {
        unchecked {
            return address(uint160(l2Address) - OFFSET);
        }
    }
}
