// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice The nonces of contract accounts, and the deployment nonces of all accounts.
interface INonceHolder {
    /// @notice The first nonce that `account` has not used.
    function getMinNonce(address account) external view returns (uint256);

    /// @notice The nonce with the key `key` that `account` uses next; that with key 0 is `getMinNonce`.
    function getKeyedNonce(address account, uint192 key) external view returns (uint256);

    /// @notice The first unused nonce, and the deployment nonce in the upper 128 bits.
    function getRawNonce(address account) external view returns (uint256);

    /// @notice The deployment nonce: how many contracts `account` has deployed through the deployer.
    function getDeploymentNonce(address account) external view returns (uint256);

    /// @notice Whether `account` has used `nonce`, whose upper 192 bits are its key.
    function isNonceUsed(address account, uint256 nonce) external view returns (bool);

    /// @notice Revert if the nonce is not used, or is and should not be.
    function validateNonceUsage(address account, uint256 nonce, bool shouldBeUsed) external view;

    /// @notice Use the caller's next nonce if it is `expected`.
    function incrementMinNonceIfEquals(uint256 expected) external;

    /// @notice As `incrementMinNonceIfEquals`, for a nonce with a key.
    function incrementMinNonceIfEqualsKeyed(uint256 expected) external;

    /// @notice Use the caller's next `value` nonces, and return the first of them.
    function increaseMinNonce(uint256 value) external returns (uint256 previous);

    /// @notice Count a deployment of `account`; only the deployer calls it.
    /// @return previous The deployment nonce before.
    function incrementDeploymentNonce(address account) external returns (uint256 previous);
}
