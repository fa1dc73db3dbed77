// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_BRIDGEHUB} from "../shared/Addresses.sol";

/// @notice The message root of chains that settle on this one: there are none.
contract L2MessageRoot {
    /// @notice The bridgehub of this chain.
    address public constant BRIDGE_HUB = L2_BRIDGEHUB;

    /// @notice The aggregated root, which is hashed into the root of a batch.
    function getAggregatedRoot() external pure returns (bytes32) {
        return bytes32(0);
    }
}
