// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_DEPLOYER} from "../shared/Addresses.sol";
import {INonceHolder} from "./interfaces/INonceHolder.sol";

/// @notice The deployment nonces of accounts.
/// @dev The nonces of transactions are part of the accounts, and an EVM contract cannot read them.
contract NonceHolder is INonceHolder {
    /// @inheritdoc INonceHolder
    mapping(address account => uint256 count) public getDeploymentNonce;

    error Unauthorized(address caller);

    /// @inheritdoc INonceHolder
    function incrementDeploymentNonce(address account) external returns (uint256 previous) {
        if (msg.sender != L2_DEPLOYER) revert Unauthorized(msg.sender);
        previous = getDeploymentNonce[account]++;
    }

    /// @notice Revert: a contract cannot read the nonce of an account.
    function getMinNonce(address) external pure returns (uint256) {
        _reject();
    }

    /// @notice Revert: half of it would be the nonce of an account.
    function getRawNonce(address) external pure returns (uint256) {
        _reject();
    }

    function _reject() private pure {
        // A string, because clients show it and know no custom error of this contract.
        // solhint-disable-next-line gas-custom-errors, reason-string
        revert("contracts cannot read nonces here: ask eth_getTransactionCount");
    }
}
