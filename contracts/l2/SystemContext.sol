// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

// Some constants are named as the functions that clients call.
// solhint-disable const-name-snakecase

/// @notice The environment of a call: chain, block and transaction.
/// @dev On this chain opcodes return the same; contracts written for the ZK Stack call this one.
contract SystemContext {
    /// @notice The gas per byte of pubdata.
    uint256 public constant gasPerPubdataByte = 800;

    /// @notice The id of this chain.
    function chainId() external view returns (uint256) {
        return block.chainid;
    }

    /// @notice The sender of the transaction.
    function origin() external view returns (address) {
        // Returning exactly this is the purpose of the function.
        // solhint-disable-next-line avoid-tx-origin
        return tx.origin;
    }

    /// @notice The gas price of the transaction.
    function gasPrice() external view returns (uint256) {
        return tx.gasprice;
    }

    /// @notice The gas limit of the block.
    function blockGasLimit() external view returns (uint256) {
        return block.gaslimit;
    }

    /// @notice The beneficiary of the block.
    function coinbase() external view returns (address) {
        return block.coinbase;
    }

    /// @notice The value of the opcode DIFFICULTY.
    function difficulty() external view returns (uint256) {
        return block.prevrandao;
    }

    /// @notice The base fee of the block.
    function baseFee() external view returns (uint256) {
        return block.basefee;
    }

    /// @notice The hash of one of the last 256 blocks, or zero.
    function getBlockHashEVM(uint256 number) external view returns (bytes32) {
        return blockhash(number);
    }

    /// @notice The number of the block.
    function getBlockNumber() external view returns (uint128) {
        return uint128(block.number);
    }

    /// @notice The timestamp of the block.
    function getBlockTimestamp() external view returns (uint128) {
        return uint128(block.timestamp);
    }

    /// @notice Number and timestamp of the block.
    function getL2BlockNumberAndTimestamp() external view returns (uint128, uint128) {
        return (uint128(block.number), uint128(block.timestamp));
    }

    /// @notice Number and timestamp of the latest batch that the block can be part of.
    /// @dev Blocks are batched after they are sealed. A batch has at least one block, so the number is never
    /// lower than that of the block's batch.
    function getBatchNumberAndTimestamp() external view returns (uint128, uint128) {
        return (uint128(block.number), uint128(block.timestamp));
    }
}
