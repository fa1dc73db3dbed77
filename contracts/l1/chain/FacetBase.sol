// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {ZKChainBase} from "./ZKChainBase.sol";

/// @notice Code that the contracts of chains run on their own storage, and that does nothing by itself.
abstract contract FacetBase is ZKChainBase {
    address private immutable _SELF = address(this);

    error OnlyThroughChain();

    /// @dev Every external function of a facet has it, which a test demands.
    modifier onlyThroughChain() {
        if (address(this) == _SELF) revert OnlyThroughChain();
        _;
    }
}
