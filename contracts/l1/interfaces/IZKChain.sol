// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice What other contracts ask of a chain's contract beside its mailbox and its executor.
interface IZKChain {
    /// @notice Tell the chain which token it uses for gas, and how it begins. Only the bridgehub may, once.
    /// @param genesisBatchHash The hash of the encoding of batch 0 as `StoredBatchInfo`.
    function initialize(bytes32 baseTokenAssetId, bytes32 genesisBatchHash) external;

    /// @notice Who decides about the chain.
    function getAdmin() external view returns (address);

    /// @notice The chain's id.
    function getChainId() external view returns (uint256);

    /// @notice Major, minor and patch number of the protocol.
    function getSemverProtocolVersion() external view returns (uint32, uint32, uint32);
}
