// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {Transaction} from "../l2/interfaces/IAccount.sol";
import {IPaymasterFlow} from "../l2/interfaces/IPaymaster.sol";
import {PaymasterBase} from "../l2/libraries/PaymasterBase.sol";

/// @notice Pays the fees of the senders on its owner's list, for nothing.
contract SponsorPaymaster is PaymasterBase {
    /// @notice The account that writes the list, and that the ether belongs to.
    address public immutable owner;
    /// @notice The senders that it pays for.
    mapping(address sender => bool isSponsored) public isSponsored;

    error NotSponsored(address sender);

    modifier onlyOwner() {
        if (msg.sender != owner) revert Unauthorized(msg.sender);
        _;
    }

    constructor(address[] memory senders) {
        owner = msg.sender;
        for (uint256 i = 0; i < senders.length; ++i) isSponsored[senders[i]] = true;
    }

    /// @notice Put a sender on the list, or remove it.
    function setSponsored(address sender, bool isSponsored_) external onlyOwner {
        isSponsored[sender] = isSponsored_;
    }

    /// @notice Send ether to the owner.
    function withdraw(uint256 amount) external onlyOwner {
        (bool isPaid, ) = owner.call{value: amount}("");
        if (!isPaid) revert FailedToTransferTokens(address(0), owner, amount);
    }

    function _agrees(
        Transaction calldata transaction,
        uint256
    ) internal view override returns (bool) {
        if (_flow(transaction) != IPaymasterFlow.general.selector) {
            revert UnsupportedPaymasterFlow();
        }
        address sender = _sender(transaction);
        if (!isSponsored[sender]) revert NotSponsored(sender);
        return true;
    }
}
