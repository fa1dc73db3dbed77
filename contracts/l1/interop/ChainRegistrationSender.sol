// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_BRIDGEHUB} from "../../shared/Addresses.sol";
import {IBridgehub} from "../interfaces/IBridgehub.sol";
import {IMailbox} from "../interfaces/IMailbox.sol";

/// @notice The function of the bridgehub on an L2.
interface IL2ChainRegistry {
    /// @notice Register a chain that bundles can be sent to.
    function registerChainForInterop(uint256 chainId, bytes32 assetId) external;
}

/// @notice Tells one chain of another, with the base token that L1 has registered for it.
contract ChainRegistrationSender {
    /// @notice The registry of chains.
    address public immutable BRIDGE_HUB;
    /// @notice Whether the second chain was told of the first.
    mapping(uint256 chainId => mapping(uint256 registeredOn => bool)) public isRegistered;

    error InvalidChains(uint256 chainId, uint256 registeredOn);
    error AlreadyRegistered(uint256 chainId, uint256 registeredOn);
    error ChainIdNotRegistered(uint256 chainId);

    constructor(address bridgehub) {
        BRIDGE_HUB = bridgehub;
    }

    /// @notice Tell the chain `registeredOn` of the chain `chainId`; anyone, once.
    function registerChain(
        uint256 chainId,
        uint256 registeredOn
    ) external returns (bytes32 canonicalTxHash) {
        if (chainId == registeredOn) revert InvalidChains(chainId, registeredOn);
        if (isRegistered[chainId][registeredOn]) revert AlreadyRegistered(chainId, registeredOn);
        isRegistered[chainId][registeredOn] = true;
        IBridgehub hub = IBridgehub(BRIDGE_HUB);
        bytes32 assetId = hub.baseTokenAssetId(chainId);
        if (assetId == bytes32(0)) revert ChainIdNotRegistered(chainId);
        address chain = hub.getZKChain(registeredOn);
        if (chain == address(0)) revert ChainIdNotRegistered(registeredOn);
        return
            IMailbox(chain).requestL2ServiceTransaction(
                L2_BRIDGEHUB,
                abi.encodeCall(IL2ChainRegistry.registerChainForInterop, (chainId, assetId))
            );
    }
}
