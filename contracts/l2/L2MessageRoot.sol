// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_BRIDGEHUB} from "../shared/Addresses.sol";

/// @notice The messages of chains that settle on this one: there are none.
contract L2MessageRoot {
    /// @notice The bridgehub of this chain.
    address public constant BRIDGE_HUB = L2_BRIDGEHUB;

    /// @notice What the roots of batches have for their second half.
    function getAggregatedRoot() external pure returns (bytes32) {
        return bytes32(0);
    }
}
