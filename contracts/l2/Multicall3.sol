// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Aggregates calls, with the interface of Multicall3.
contract Multicall3 {
    struct Call {
        address target;
        bytes callData;
    }

    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Call3Value {
        address target;
        bool allowFailure;
        uint256 value;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    /// @notice Make calls that must all succeed.
    /// @return blockNumber The block of the calls.
    /// @return returnData Their return data.
    function aggregate(
        Call[] calldata calls
    ) external payable returns (uint256 blockNumber, bytes[] memory returnData) {
        blockNumber = block.number;
        returnData = new bytes[](calls.length);
        for (uint256 i; i < calls.length; ++i) {
            returnData[i] = _call(calls[i].target, 0, calls[i].callData, false).returnData;
        }
    }

    /// @notice Make calls, which must all succeed if `requireSuccess` is set.
    function tryAggregate(
        bool requireSuccess,
        Call[] calldata calls
    ) external payable returns (Result[] memory returnData) {
        return _callAll(requireSuccess, calls);
    }

    /// @notice As `tryAggregate`, and return the block.
    /// @return blockNumber The block of the calls.
    /// @return blockHash The EVM's hash of that block, which is not known yet.
    /// @return returnData The results of the calls.
    function tryBlockAndAggregate(
        bool requireSuccess,
        Call[] calldata calls
    )
        external
        payable
        returns (uint256 blockNumber, bytes32 blockHash, Result[] memory returnData)
    {
        return (block.number, blockhash(block.number), _callAll(requireSuccess, calls));
    }

    /// @notice Make calls that must all succeed, and return the block.
    /// @return blockNumber The block of the calls.
    /// @return blockHash The EVM's hash of that block, which is not known yet.
    /// @return returnData The results of the calls.
    function blockAndAggregate(
        Call[] calldata calls
    )
        external
        payable
        returns (uint256 blockNumber, bytes32 blockHash, Result[] memory returnData)
    {
        return (block.number, blockhash(block.number), _callAll(true, calls));
    }

    /// @notice Make calls, each of which may be allowed to fail.
    function aggregate3(
        Call3[] calldata calls
    ) external payable returns (Result[] memory returnData) {
        returnData = new Result[](calls.length);
        for (uint256 i; i < calls.length; ++i) {
            returnData[i] = _call(calls[i].target, 0, calls[i].callData, calls[i].allowFailure);
        }
    }

    /// @notice Make calls with a value each, each of which may be allowed to fail.
    function aggregate3Value(
        Call3Value[] calldata calls
    ) external payable returns (Result[] memory returnData) {
        uint256 total;
        returnData = new Result[](calls.length);
        for (uint256 i; i < calls.length; ++i) {
            Call3Value calldata item = calls[i];
            total += item.value;
            returnData[i] = _call(item.target, item.value, item.callData, item.allowFailure);
        }
        // Strings, because clients recognize these two failures by them.
        // solhint-disable-next-line gas-custom-errors
        require(msg.value == total, "Multicall3: value mismatch");
    }

    /// @notice The hash of one of the last 256 blocks, or zero.
    function getBlockHash(uint256 blockNumber) external view returns (bytes32 blockHash) {
        return blockhash(blockNumber);
    }

    /// @notice The number of the block.
    function getBlockNumber() external view returns (uint256 blockNumber) {
        return block.number;
    }

    /// @notice The beneficiary of the block.
    function getCurrentBlockCoinbase() external view returns (address coinbase) {
        return block.coinbase;
    }

    /// @notice The value of the opcode DIFFICULTY.
    function getCurrentBlockDifficulty() external view returns (uint256 difficulty) {
        return block.prevrandao;
    }

    /// @notice The gas limit of the block.
    function getCurrentBlockGasLimit() external view returns (uint256 gaslimit) {
        return block.gaslimit;
    }

    /// @notice The timestamp of the block.
    function getCurrentBlockTimestamp() external view returns (uint256 timestamp) {
        return block.timestamp;
    }

    /// @notice The balance of an account in the base token.
    function getEthBalance(address addr) external view returns (uint256 balance) {
        return addr.balance;
    }

    /// @notice The hash of the block before this one.
    function getLastBlockHash() external view returns (bytes32 blockHash) {
        return blockhash(block.number - 1);
    }

    /// @notice The base fee of the block.
    function getBasefee() external view returns (uint256 basefee) {
        return block.basefee;
    }

    /// @notice The id of this chain.
    function getChainId() external view returns (uint256 chainid) {
        return block.chainid;
    }

    function _callAll(
        bool requireSuccess,
        Call[] calldata calls
    ) private returns (Result[] memory returnData) {
        returnData = new Result[](calls.length);
        for (uint256 i; i < calls.length; ++i) {
            returnData[i] = _call(calls[i].target, 0, calls[i].callData, !requireSuccess);
        }
    }

    function _call(
        address target,
        uint256 value,
        bytes calldata callData,
        bool allowFailure
    ) private returns (Result memory result) {
        (result.success, result.returnData) = target.call{value: value}(callData);
        // solhint-disable-next-line gas-custom-errors
        require(result.success || allowFailure, "Multicall3: call failed");
    }
}
