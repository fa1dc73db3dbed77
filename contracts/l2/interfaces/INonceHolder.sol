// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice The deployment nonces of accounts.
interface INonceHolder {
    /// @notice The number of contracts that `account` has deployed through the contract deployer.
    function getDeploymentNonce(address account) external view returns (uint256);

    /// @notice Increment the deployment nonce of `account`. Only the contract deployer.
    /// @return previous The nonce before.
    function incrementDeploymentNonce(address account) external returns (uint256 previous);
}
