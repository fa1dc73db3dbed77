// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice How much of what was numbered.
interface INonceHolder {
    /// @notice How many contracts `account` has deployed through the contract deployer.
    function getDeploymentNonce(address account) external view returns (uint256);

    /// @notice Count one more deployment of `account`; for the contract deployer only.
    /// @return previous The count before.
    function incrementDeploymentNonce(address account) external returns (uint256 previous);
}
