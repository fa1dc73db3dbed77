// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {FactoryDependencies} from "./libraries/FactoryDependencies.sol";

/// @notice Publishes bytecode on L1, in events that anybody can find by its hash. Anybody may publish.
/// @dev A transaction has its factory dependencies with it, so the node needs none of them: tools for upgrades do.
contract BytecodesSupplier {
    /// @notice The block in which EraVM bytecode was published, by its versioned hash.
    mapping(bytes32 bytecodeHash => uint256 blockNumber) public publishingBlock;
    /// @notice The block in which EVM bytecode was published, by its keccak256.
    mapping(bytes32 bytecodeHash => uint256 blockNumber) public evmPublishingBlock;

    /// @notice EraVM bytecode was published.
    event BytecodePublished(bytes32 indexed bytecodeHash, bytes bytecode);

    /// @notice EVM bytecode was published.
    event EVMBytecodePublished(bytes32 indexed bytecodeHash, bytes bytecode);

    error BytecodeAlreadyPublished(bytes32 bytecodeHash);
    error EVMBytecodeAlreadyPublished(bytes32 bytecodeHash);

    /// @notice Publish EraVM bytecode.
    function publishBytecode(bytes calldata bytecode) external {
        _publish(bytecode);
    }

    /// @notice Publish EraVM bytecode, under the newer name.
    function publishEraBytecode(bytes calldata bytecode) external {
        _publish(bytecode);
    }

    /// @notice Publish EraVM bytecodes.
    function publishBytecodes(bytes[] calldata bytecodes) external {
        for (uint256 i = 0; i < bytecodes.length; ++i) _publish(bytecodes[i]);
    }

    /// @notice Publish EraVM bytecodes, under the newer name.
    function publishEraBytecodes(bytes[] calldata bytecodes) external {
        for (uint256 i = 0; i < bytecodes.length; ++i) _publish(bytecodes[i]);
    }

    /// @notice Publish EVM bytecode.
    function publishEVMBytecode(bytes calldata bytecode) external {
        _publishEVM(bytecode);
    }

    /// @notice Publish EVM bytecodes.
    function publishEVMBytecodes(bytes[] calldata bytecodes) external {
        for (uint256 i = 0; i < bytecodes.length; ++i) _publishEVM(bytecodes[i]);
    }

    function _publish(bytes calldata bytecode) private {
        bytes32 hash = FactoryDependencies.hash(bytecode);
        if (publishingBlock[hash] != 0) revert BytecodeAlreadyPublished(hash);
        publishingBlock[hash] = block.number;
        emit BytecodePublished(hash, bytecode);
    }

    function _publishEVM(bytes calldata bytecode) private {
        bytes32 hash = keccak256(bytecode);
        if (evmPublishingBlock[hash] != 0) revert EVMBytecodeAlreadyPublished(hash);
        evmPublishingBlock[hash] = block.number;
        emit EVMBytecodePublished(hash, bytecode);
    }
}
