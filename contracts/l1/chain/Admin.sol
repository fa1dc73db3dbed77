// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {FeeParams, ZKChainBase} from "./ZKChainBase.sol";

/// @notice Functions of a chain's admin.
abstract contract Admin is ZKChainBase {
    /// @notice The admin started a transfer.
    event NewPendingAdmin(address indexed oldPendingAdmin, address indexed newPendingAdmin);
    /// @notice The admin changed.
    event NewAdmin(address indexed oldAdmin, address indexed newAdmin);
    /// @notice A validator was added or removed.
    event ValidatorStatusUpdate(address indexed validatorAddress, bool isActive);
    /// @notice The maximum gas limit of a request changed.
    event NewPriorityTxMaxGasLimit(
        uint256 oldPriorityTxMaxGasLimit,
        uint256 newPriorityTxMaxGasLimit
    );
    /// @notice The fee parameters of requests changed.
    event NewFeeParams(FeeParams oldFeeParams, FeeParams newFeeParams);
    /// @notice The price of ether in the base token changed.
    event NewBaseTokenMultiplier(
        uint128 oldNominator,
        uint128 oldDenominator,
        uint128 newNominator,
        uint128 newDenominator
    );

    /// @notice A part of the L2's genesis.
    /// @dev Whoever reads it puts the parts together and compares their hash: see docs/availability.md.
    event GenesisData(uint256 indexed part, uint256 parts, bytes data);

    /// @dev A transaction of L1 has at most 131,072 bytes.
    uint256 internal constant MAX_GENESIS_PART = 100_000;
    uint256 internal constant MAX_GENESIS_PARTS = 16;

    error NominatorIsZero();
    error DenominatorIsZero();
    error InvalidFeeParams();
    error NotRegistered();
    error InvalidGenesisPart(uint256 part, uint256 parts, uint256 length);

    /// @notice Start the transfer to a new admin.
    function setPendingAdmin(address newPendingAdmin) external onlyAdmin {
        emit NewPendingAdmin(_pendingAdmin, newPendingAdmin);
        _pendingAdmin = newPendingAdmin;
    }

    /// @notice Accept the role as the pending admin.
    function acceptAdmin() external {
        if (msg.sender != _pendingAdmin) revert Unauthorized(msg.sender);
        emit NewAdmin(_admin, msg.sender);
        _admin = msg.sender;
        _pendingAdmin = address(0);
    }

    /// @notice Add or remove a validator; the timelock is one from the start.
    function setValidator(address validator, bool active) external onlyAdmin {
        _isValidator[validator] = active;
        emit ValidatorStatusUpdate(validator, active);
    }

    /// @notice Set the fee parameters of requests.
    function changeFeeParams(FeeParams calldata newFeeParams) external onlyAdmin {
        emit NewFeeParams(_feeParams, newFeeParams);
        _setFeeParams(newFeeParams);
    }

    /// @notice Set the price of one ether in the base token, as a fraction of their smallest units.
    function setTokenMultiplier(uint128 nominator, uint128 denominator) external onlyAdmin {
        emit NewBaseTokenMultiplier(
            _multiplierNominator,
            _multiplierDenominator,
            nominator,
            denominator
        );
        _setMultiplier(nominator, denominator);
    }

    /// @notice Set the maximum gas limit of a request.
    function setPriorityTxMaxGasLimit(uint256 newLimit) external onlyAdmin {
        emit NewPriorityTxMaxGasLimit(_priorityTxMaxGasLimit, newLimit);
        _priorityTxMaxGasLimit = newLimit;
    }

    /// @notice Publish a part of the L2's genesis.
    /// @dev It may be repeated: only parts whose hash is that of the genesis batch count. Operators publish it before
    /// they commit, but a reorg can put the commit first, and what came too late could never be published. Not before the
    /// registration, since readers begin with its block.
    /// @param part The number of the part, from zero.
    /// @param parts How many there are.
    function publishGenesis(uint256 part, uint256 parts, bytes calldata data) external onlyAdmin {
        if (_storedBatchHashes[0] == bytes32(0)) revert NotRegistered();
        if (part >= parts || parts > MAX_GENESIS_PARTS || data.length > MAX_GENESIS_PART) {
            revert InvalidGenesisPart(part, parts, data.length);
        }
        emit GenesisData(part, parts, data);
    }

    /// @dev With a price of zero requests would cost nothing.
    function _setMultiplier(uint128 nominator, uint128 denominator) internal {
        if (nominator == 0) revert NominatorIsZero();
        if (denominator == 0) revert DenominatorIsZero();
        _multiplierNominator = nominator;
        _multiplierDenominator = denominator;
    }

    function _setFeeParams(FeeParams memory feeParams) internal {
        bool isUsable =
            feeParams.maxPubdataPerBatch >= feeParams.priorityTxMaxPubdata &&
                feeParams.maxPubdataPerBatch > 0 &&
                feeParams.maxL2GasPerBatch > 0;
        if (!isUsable) revert InvalidFeeParams();
        _feeParams = feeParams;
    }
}
