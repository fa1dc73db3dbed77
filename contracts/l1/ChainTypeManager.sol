// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {IBridgehub} from "./interfaces/IBridgehub.sol";

/// @notice What the chains of one type have in common.
contract ChainTypeManager {
    /// @notice The bridgehub.
    address public immutable BRIDGE_HUB;
    /// @notice The timelock through which validators settle batches.
    address public immutable validatorTimelock;
    /// @notice The contract that bytecode is published with.
    address public immutable L1_BYTECODES_SUPPLIER;
    /// @notice The packed protocol version.
    uint256 public immutable protocolVersion;

    constructor(
        address bridgehub,
        address validatorTimelock_,
        address bytecodesSupplier,
        uint256 protocolVersion_
    ) {
        BRIDGE_HUB = bridgehub;
        validatorTimelock = validatorTimelock_;
        L1_BYTECODES_SUPPLIER = bytecodesSupplier;
        protocolVersion = protocolVersion_;
    }

    /// @notice The timelock through which validators settle batches, under its newer name.
    function validatorTimelockPostV29() external view returns (address) {
        return validatorTimelock;
    }

    /// @notice Major, minor and patch version of the protocol.
    function getSemverProtocolVersion() external view returns (uint32, uint32, uint32) {
        return (
            uint32(protocolVersion >> 64),
            uint32(protocolVersion >> 32),
            uint32(protocolVersion)
        );
    }

    /// @notice The contract of a chain of this type, or zero.
    function getZKChain(uint256 chainId) public view returns (address) {
        bool isOurs = IBridgehub(BRIDGE_HUB).chainTypeManager(chainId) == address(this);
        return isOurs ? IBridgehub(BRIDGE_HUB).getZKChain(chainId) : address(0);
    }

    /// @notice The contract of a chain of this type, or zero, under its former name.
    function getHyperchain(uint256 chainId) external view returns (address) {
        return getZKChain(chainId);
    }
}
