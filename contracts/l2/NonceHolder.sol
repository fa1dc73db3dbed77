// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_DEPLOYER} from "../shared/Addresses.sol";
import {INonceHolder} from "./interfaces/INonceHolder.sol";
import {AccountCode} from "./libraries/AccountCode.sol";

/// @notice The nonces of contract accounts, and the deployment nonces of all accounts.
/// @dev An account with a key has its nonce in the state itself, where no contract can read it. The node reads
/// `_rawNonces`, so its slot must not move.
contract NonceHolder is INonceHolder {
    uint256 private constant DEPLOYMENT = 2 ** 128;
    uint256 private constant MAX_INCREASE = 2 ** 32;
    uint256 private constant KEY_SHIFT = 64;

    /// @dev The first unused nonce, and the deployment nonce in the upper 128 bits.
    mapping(address account => uint256 raw) private _rawNonces;
    mapping(address account => mapping(uint192 key => uint64 next)) private _keyedNonces;

    error Unauthorized(address caller);
    error ValueMismatch(uint256 expected, uint256 actual);
    error NonceAlreadyUsed(address account, uint256 nonce);
    error NonceNotUsed(address account, uint256 nonce);
    error NonceIncreaseError(uint256 min, uint256 max, uint256 proposed);
    error InvalidNonceKey(uint192 key);

    /// @inheritdoc INonceHolder
    function incrementMinNonceIfEquals(uint256 expected) external {
        uint256 actual = _minNonce(msg.sender);
        if (actual != expected) revert ValueMismatch(expected, actual);
        ++_rawNonces[msg.sender];
    }

    /// @inheritdoc INonceHolder
    function incrementMinNonceIfEqualsKeyed(uint256 expected) external {
        uint192 key = _keyOf(expected);
        if (key == 0) revert InvalidNonceKey(key);
        uint256 actual = _keyedNonce(msg.sender, key);
        if (actual != expected) revert ValueMismatch(expected, actual);
        ++_keyedNonces[msg.sender][key];
    }

    /// @inheritdoc INonceHolder
    function increaseMinNonce(uint256 value) external returns (uint256 previous) {
        if (value == 0 || value > MAX_INCREASE) revert NonceIncreaseError(1, MAX_INCREASE, value);
        previous = _minNonce(msg.sender);
        _rawNonces[msg.sender] += value;
    }

    /// @inheritdoc INonceHolder
    function incrementDeploymentNonce(address account) external returns (uint256 previous) {
        if (msg.sender != L2_DEPLOYER) revert Unauthorized(msg.sender);
        previous = getDeploymentNonce(account);
        _rawNonces[account] += DEPLOYMENT;
    }

    /// @inheritdoc INonceHolder
    function getMinNonce(address account) external view returns (uint256) {
        _checkContract(account);
        return _minNonce(account);
    }

    /// @inheritdoc INonceHolder
    function getKeyedNonce(address account, uint192 key) external view returns (uint256) {
        _checkContract(account);
        return key == 0 ? _minNonce(account) : _keyedNonce(account, key);
    }

    /// @inheritdoc INonceHolder
    function getRawNonce(address account) external view returns (uint256) {
        _checkContract(account);
        return _rawNonces[account];
    }

    /// @inheritdoc INonceHolder
    function validateNonceUsage(address account, uint256 nonce, bool shouldBeUsed) external view {
        bool isUsed = isNonceUsed(account, nonce);
        if (isUsed && !shouldBeUsed) revert NonceAlreadyUsed(account, nonce);
        if (!isUsed && shouldBeUsed) revert NonceNotUsed(account, nonce);
    }

    /// @inheritdoc INonceHolder
    function getDeploymentNonce(address account) public view returns (uint256) {
        return _rawNonces[account] / DEPLOYMENT;
    }

    /// @inheritdoc INonceHolder
    function isNonceUsed(address account, uint256 nonce) public view returns (bool) {
        _checkContract(account);
        uint192 key = _keyOf(nonce);
        return nonce < (key == 0 ? _minNonce(account) : _keyedNonce(account, key));
    }

    function _minNonce(address account) private view returns (uint256) {
        return _rawNonces[account] % DEPLOYMENT;
    }

    function _keyedNonce(address account, uint192 key) private view returns (uint256) {
        return (uint256(key) << KEY_SHIFT) | _keyedNonces[account][key];
    }

    function _checkContract(address account) private view {
        // A string, because clients show it and know no custom error of this contract.
        // solhint-disable-next-line gas-custom-errors, reason-string
        require(
            !AccountCode.hasKey(account),
            "contracts cannot read nonces here: ask eth_getTransactionCount"
        );
    }

    function _keyOf(uint256 nonce) private pure returns (uint192) {
        return uint192(nonce >> KEY_SHIFT);
    }
}
