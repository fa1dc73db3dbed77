// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {IZKChain} from "./interfaces/IZKChain.sol";
import {Ownable} from "./Ownable.sol";

/// @notice Restricts settlement to validators, and delays the execution of a batch after its commit, so
/// that there is time to intervene.
/// @dev The functions have the signatures of the chain's contract, and calls are forwarded unchanged.
contract ValidatorTimelock is Ownable {
    /// @notice The minimum number of seconds between the commit and the execution of a batch.
    uint32 public executionDelay;
    /// @notice Whether an account may settle a chain's batches.
    mapping(address chain => mapping(address operator => bool)) public validators;
    mapping(address chain => mapping(uint256 batchNumber => uint256)) private _committedAt;

    /// @notice The delay changed.
    event NewExecutionDelay(uint256 newExecutionDelay);
    /// @notice A validator was added to a chain.
    event ValidatorAdded(address indexed chain, address indexed validator);
    /// @notice A validator was removed from a chain.
    event ValidatorRemoved(address indexed chain, address indexed validator);

    error TimeNotReached(uint256 expected, uint256 actual);

    modifier onlyChainAdmin(address chain) {
        if (msg.sender != IZKChain(chain).getAdmin()) revert Unauthorized(msg.sender);
        _;
    }

    modifier onlyValidator(address chain) {
        if (!validators[chain][msg.sender]) revert Unauthorized(msg.sender);
        _;
    }

    constructor(address owner_, uint32 executionDelay_) Ownable(owner_) {
        executionDelay = executionDelay_;
    }

    /// @notice Set the delay between commit and execution.
    function setExecutionDelay(uint32 newExecutionDelay) external onlyOwner {
        executionDelay = newExecutionDelay;
        emit NewExecutionDelay(newExecutionDelay);
    }

    /// @notice Allow an account to settle a chain's batches. Only the chain's admin.
    function addValidator(address chain, address validator) external onlyChainAdmin(chain) {
        validators[chain][validator] = true;
        emit ValidatorAdded(chain, validator);
    }

    /// @notice Forbid an account to settle a chain's batches. Only the chain's admin.
    function removeValidator(address chain, address validator) external onlyChainAdmin(chain) {
        validators[chain][validator] = false;
        emit ValidatorRemoved(chain, validator);
    }

    /// @notice The timestamp of a batch's commit, or zero.
    function getCommittedBatchTimestamp(
        address chain,
        uint256 batchNumber
    ) external view returns (uint256) {
        return _committedAt[chain][batchNumber];
    }

    /// @notice Commit to the next batch of a chain; see `IExecutor`.
    function commitBatchesSharedBridge(
        address chain,
        uint256 processFrom,
        uint256 processTo,
        bytes calldata
    ) external onlyValidator(chain) {
        for (uint256 number = processFrom; number <= processTo; ++number) {
            _committedAt[chain][number] = block.timestamp;
        }
        _forward(chain);
    }

    /// @notice Prove the next committed batches of a chain; see `IExecutor`.
    function proveBatchesSharedBridge(
        address chain,
        uint256,
        uint256,
        bytes calldata
    ) external onlyValidator(chain) {
        _forward(chain);
    }

    /// @notice Execute the next proven batches of a chain; see `IExecutor`.
    function executeBatchesSharedBridge(
        address chain,
        uint256 processFrom,
        uint256 processTo,
        bytes calldata
    ) external onlyValidator(chain) {
        for (uint256 number = processFrom; number <= processTo; ++number) {
            uint256 earliest = _committedAt[chain][number] + executionDelay;
            if (block.timestamp < earliest) revert TimeNotReached(earliest, block.timestamp);
        }
        _forward(chain);
    }

    /// @notice Revert batches of a chain that are not executed; see `IExecutor`.
    function revertBatchesSharedBridge(address chain, uint256) external onlyValidator(chain) {
        _forward(chain);
    }

    function _forward(address chain) private {
        (bool success, bytes memory returnData) = chain.call(msg.data);
        if (success) return;
        assembly ("memory-safe") {
            revert(add(returnData, 0x20), mload(returnData))
        }
    }
}
