// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

// Some constants have the names of the functions that clients call.
// solhint-disable const-name-snakecase

/// @notice What a contract can ask about the chain, the block and the transaction it runs in.
/// @dev On this chain opcodes tell the same; contracts written for the ZK Stack ask here.
contract SystemContext {
    /// @notice How much gas a byte that is published on L1 costs.
    uint256 public constant gasPerPubdataByte = 800;

    /// @notice The id of this chain.
    function chainId() external view returns (uint256) {
        return block.chainid;
    }

    /// @notice Who signed the transaction.
    function origin() external view returns (address) {
        // Being asked for exactly this is what the function is there for.
        // solhint-disable-next-line avoid-tx-origin
        return tx.origin;
    }

    /// @notice What the transaction pays for a unit of gas.
    function gasPrice() external view returns (uint256) {
        return tx.gasprice;
    }

    /// @notice How much gas the block has room for.
    function blockGasLimit() external view returns (uint256) {
        return block.gaslimit;
    }

    /// @notice Who gets the fees of the block.
    function coinbase() external view returns (address) {
        return block.coinbase;
    }

    /// @notice What the opcode DIFFICULTY answers.
    function difficulty() external view returns (uint256) {
        return block.prevrandao;
    }

    /// @notice What the block charges for a unit of gas at least.
    function baseFee() external view returns (uint256) {
        return block.basefee;
    }

    /// @notice The hash of one of the 256 blocks before this one, else zero.
    function getBlockHashEVM(uint256 number) external view returns (bytes32) {
        return blockhash(number);
    }

    /// @notice The number of the block.
    function getBlockNumber() external view returns (uint128) {
        return uint128(block.number);
    }

    /// @notice When the block was made, in seconds of the Unix epoch.
    function getBlockTimestamp() external view returns (uint128) {
        return uint128(block.timestamp);
    }

    /// @notice Number and time of the block.
    function getL2BlockNumberAndTimestamp() external view returns (uint128, uint128) {
        return (uint128(block.number), uint128(block.timestamp));
    }

    /// @notice Number and time of the newest batch that the block can be part of.
    /// @dev Blocks are put into batches after they were made. A batch has one block at least, so that
    /// the number is never lower than that of the batch in the end.
    function getBatchNumberAndTimestamp() external view returns (uint128, uint128) {
        return (uint128(block.number), uint128(block.timestamp));
    }
}
