// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Functions of a chain's contract that other contracts call, beside its mailbox and its executor.
interface IZKChain {
    /// @notice Set the base token and the genesis batch. Only the bridgehub, and only once.
    /// @param genesisBatchHash The hash of the encoding of batch 0 as `StoredBatchInfo`.
    function initialize(bytes32 baseTokenAssetId, bytes32 genesisBatchHash) external;

    /// @notice The admin of the chain.
    function getAdmin() external view returns (address);

    /// @notice The root of an executed batch's messages; zero before.
    function l2LogsRootHash(uint256 batchNumber) external view returns (bytes32);

    /// @notice The chain's id.
    function getChainId() external view returns (uint256);

    /// @notice Major, minor and patch version of the protocol.
    function getSemverProtocolVersion() external view returns (uint32, uint32, uint32);
}
