// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_BRIDGEHUB, L2_INTEROP_CENTER} from "../../shared/Addresses.sol";
import {IBridgehub} from "../interfaces/IBridgehub.sol";
import {IMailbox} from "../interfaces/IMailbox.sol";

/// @notice The function of the bridgehub on an L2.
interface IL2ChainRegistry {
    /// @notice Register a chain that bundles can be sent to.
    function registerChainForInterop(uint256 chainId, bytes32 assetId) external;
}

/// @notice What ether costs in the base token of a chain, as its contract knows it.
interface IEtherPrice {
    /// @notice The numerator.
    function baseTokenGasPriceMultiplierNominator() external view returns (uint128);

    /// @notice The denominator.
    function baseTokenGasPriceMultiplierDenominator() external view returns (uint128);
}

/// @notice The function of the interop center on an L2.
interface IL2InteropFee {
    /// @notice Set the fee for each call.
    function setInteropFee(uint256 fee) external;
}

/// @notice Tells one chain of another, with the base token that L1 has registered for it, and what calls cost.
contract ChainRegistrationSender {
    /// @notice The registry of chains.
    address public immutable BRIDGE_HUB;
    /// @notice Whether the second chain was told of the first.
    mapping(uint256 chainId => mapping(uint256 registeredOn => bool)) public isRegistered;

    /// @notice What a call to another chain costs, in ether.
    uint256 public constant INTEROP_FEE = 1e12;
    /// @notice The fee that a chain was told last, in its base token; zero as long as it has that of its genesis.
    mapping(uint256 chainId => uint256) public interopFee;

    error InteropFeeUnchanged(uint256 chainId, uint256 fee);
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

    /// @notice Tell a chain what calls to others cost, after ether has got another price in its base token; anyone.
    /// @dev Each price once, as nobody pays for the transaction.
    function updateInteropFee(uint256 chainId) external returns (bytes32 canonicalTxHash) {
        address chain = IBridgehub(BRIDGE_HUB).getZKChain(chainId);
        if (chain == address(0)) revert ChainIdNotRegistered(chainId);
        uint256 nominator = IEtherPrice(chain).baseTokenGasPriceMultiplierNominator();
        uint256 denominator = IEtherPrice(chain).baseTokenGasPriceMultiplierDenominator();
        uint256 fee = (INTEROP_FEE * nominator + denominator - 1) / denominator;
        if (fee == interopFee[chainId]) revert InteropFeeUnchanged(chainId, fee);
        interopFee[chainId] = fee;
        return
            IMailbox(chain).requestL2ServiceTransaction(
                L2_INTEROP_CENTER,
                abi.encodeCall(IL2InteropFee.setInteropFee, (fee))
            );
    }
}
