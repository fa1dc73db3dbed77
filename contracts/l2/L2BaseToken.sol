// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_MESSENGER} from "../shared/Addresses.sol";
import {FINALIZE_ETH_WITHDRAWAL} from "../shared/LegacySelectors.sol";
import {IL1Messenger} from "./interfaces/IL1Messenger.sol";

/// @notice The base token as a contract, for its withdrawals to L1.
/// @dev Balances are those of the accounts themselves. Withdrawn amounts stay at this address, from where
/// nothing can move them.
contract L2BaseToken {
    /// @notice The sum of all withdrawals to L1.
    uint256 public totalWithdrawn;
    /// @notice The name of the token on L1; it is set in the genesis, as are symbol and decimals.
    string public name;
    /// @notice The symbol of the token.
    string public symbol;
    /// @notice The number of decimals of an amount.
    uint8 public decimals;

    /// @notice `l2Sender` withdrew `amount` to `l1Receiver` on L1.
    event Withdrawal(address indexed l2Sender, address indexed l1Receiver, uint256 amount);
    /// @notice `l2Sender` withdrew `amount` with a message to `l1Receiver`.
    event WithdrawalWithMessage(
        address indexed l2Sender,
        address indexed l1Receiver,
        uint256 amount,
        bytes additionalData
    );

    error InvalidReceiver(address receiver);

    /// @notice Withdraw `msg.value` to `l1Receiver` on L1.
    function withdraw(address l1Receiver) external payable {
        _recordWithdrawal(l1Receiver);
        _send(abi.encodePacked(FINALIZE_ETH_WITHDRAWAL, l1Receiver, msg.value));
        emit Withdrawal(msg.sender, l1Receiver, msg.value);
    }

    /// @notice Withdraw `msg.value` to `l1Receiver` on L1, with the caller and `additionalData` in the message.
    function withdrawWithMessage(
        address l1Receiver,
        bytes calldata additionalData
    ) external payable {
        _recordWithdrawal(l1Receiver);
        _send(
            abi.encodePacked(
                FINALIZE_ETH_WITHDRAWAL,
                l1Receiver,
                msg.value,
                msg.sender,
                additionalData
            )
        );
        emit WithdrawalWithMessage(msg.sender, l1Receiver, msg.value, additionalData);
    }

    /// @notice The balance of the account with the address `account`.
    function balanceOf(uint256 account) external view returns (uint256) {
        return address(uint160(account)).balance;
    }

    /// @notice Revert: the node mints deposits, and no contract knows their sum.
    function totalSupply() external pure returns (uint256) {
        // A string, because clients show it and know no custom error of this contract.
        // solhint-disable-next-line gas-custom-errors, reason-string
        revert("the supply of the base token is what the bridge holds on L1");
    }

    function _recordWithdrawal(address l1Receiver) private {
        if (l1Receiver == address(0)) revert InvalidReceiver(l1Receiver);
        totalWithdrawn += msg.value;
    }

    function _send(bytes memory message) private {
        IL1Messenger(L2_MESSENGER).sendToL1(message);
    }
}
