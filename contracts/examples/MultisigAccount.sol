// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {Transaction} from "../l2/interfaces/IAccount.sol";
import {AccountBase} from "./AccountBase.sol";

/// @notice An account that some of its owners have to sign for. Their signatures follow each other, in their order.
contract MultisigAccount is AccountBase {
    /// @notice How many owners have to sign.
    uint256 public immutable threshold;
    /// @notice The owners.
    address[] public owners;

    error InvalidThreshold(uint256 threshold);
    error InvalidOwner(address owner);

    constructor(address[] memory owners_, uint256 threshold_) {
        if (threshold_ == 0 || threshold_ > owners_.length) revert InvalidThreshold(threshold_);
        for (uint256 i = 0; i < owners_.length; ++i) _checkOwner(owners_, i);
        owners = owners_;
        threshold = threshold_;
    }

    function _agrees(
        bytes32 suggestedSignedHash,
        Transaction calldata transaction
    ) internal view override returns (bool) {
        return _isSigned(suggestedSignedHash, transaction.signature);
    }

    /// @dev One of another size is replaced by one that costs as much, so that estimates are right.
    function _isSigned(
        bytes32 hash,
        bytes calldata signature
    ) internal view override returns (bool) {
        bool hasSize = signature.length == threshold * SIGNATURE;
        bool isSigned = hasSize;
        uint256 next = 0;
        for (uint256 i = 0; i < threshold; ++i) {
            bytes memory one = new bytes(SIGNATURE);
            if (hasSize) one = signature[i * SIGNATURE:(i + 1) * SIGNATURE];
            address signer = _signer(hash, one);
            while (next < owners.length && owners[next] != signer) ++next;
            if (next == owners.length) isSigned = false;
            else ++next;
        }
        return isSigned;
    }

    /// @dev A bad signature recovers to zero, and an owner that is there twice could sign twice.
    function _checkOwner(address[] memory owners_, uint256 i) private pure {
        if (owners_[i] == address(0)) revert InvalidOwner(owners_[i]);
        for (uint256 j = 0; j < i; ++j) {
            if (owners_[j] == owners_[i]) revert InvalidOwner(owners_[i]);
        }
    }
}
