// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice A contract with an owner, who leaves in two steps, so that a typing error loses nothing.
abstract contract Ownable {
    /// @notice Who may change what others may not.
    address public owner;
    /// @notice Who becomes the owner by accepting.
    address public pendingOwner;

    /// @notice An owner named his successor.
    event OwnershipTransferStarted(address indexed previousOwner, address indexed newOwner);
    /// @notice The owner changed.
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    error Unauthorized(address caller);

    modifier onlyOwner() {
        if (msg.sender != owner) revert Unauthorized(msg.sender);
        _;
    }

    constructor(address owner_) {
        owner = owner_;
        emit OwnershipTransferred(address(0), owner_);
    }

    /// @notice Name the next owner.
    function transferOwnership(address newOwner) external onlyOwner {
        pendingOwner = newOwner;
        emit OwnershipTransferStarted(owner, newOwner);
    }

    /// @notice Become the owner, having been named.
    function acceptOwnership() external {
        if (msg.sender != pendingOwner) revert Unauthorized(msg.sender);
        emit OwnershipTransferred(owner, msg.sender);
        owner = msg.sender;
        pendingOwner = address(0);
    }
}
