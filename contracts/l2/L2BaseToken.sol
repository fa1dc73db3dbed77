// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

// Some constants have the names of the functions that clients call.
// solhint-disable const-name-snakecase

import {L2_MESSENGER} from "../shared/Addresses.sol";
import {FINALIZE_ETH_WITHDRAWAL} from "../shared/LegacySelectors.sol";
import {IL1Messenger} from "./interfaces/IL1Messenger.sol";

/// @notice The token that gas is paid in, seen as a contract: this is where it leaves for L1.
/// @dev Balances are those of the accounts themselves. What was withdrawn stays at this address, from
/// where nothing can move it, and circulates no more.
contract L2BaseToken {
    /// @notice The name for people.
    string public constant name = "Ether";
    /// @notice The abbreviation for people.
    string public constant symbol = "ETH";
    /// @notice How many digits of an amount stand behind the point.
    uint8 public constant decimals = 18;

    /// @notice What has left for L1 since genesis.
    uint256 public totalWithdrawn;

    /// @notice `l2Sender` withdrew `amount`, which `l1Receiver` gets on L1.
    event Withdrawal(address indexed l2Sender, address indexed l1Receiver, uint256 amount);
    /// @notice `l2Sender` withdrew `amount` with a message to `l1Receiver`.
    event WithdrawalWithMessage(
        address indexed l2Sender,
        address indexed l1Receiver,
        uint256 amount,
        bytes additionalData
    );

    error InvalidReceiver(address receiver);

    /// @notice Send the value of the call to `l1Receiver` on L1.
    function withdraw(address l1Receiver) external payable {
        _take(l1Receiver);
        _send(abi.encodePacked(FINALIZE_ETH_WITHDRAWAL, l1Receiver, msg.value));
        emit Withdrawal(msg.sender, l1Receiver, msg.value);
    }

    /// @notice Send the value of the call to `l1Receiver` on L1, and tell it who sent it and `additionalData`.
    function withdrawWithMessage(
        address l1Receiver,
        bytes calldata additionalData
    ) external payable {
        _take(l1Receiver);
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

    /// @notice What the account with the address `account` owns.
    function balanceOf(uint256 account) external view returns (uint256) {
        return address(uint160(account)).balance;
    }

    /// @notice Refuse to answer: deposits are minted by the node, and no contract sees their sum.
    function totalSupply() external pure returns (uint256) {
        // Text, because clients show it and know no error of this contract.
        // solhint-disable-next-line gas-custom-errors, reason-string
        revert("the supply of the base token is what the bridge holds on L1");
    }

    function _take(address l1Receiver) private {
        if (l1Receiver == address(0)) revert InvalidReceiver(l1Receiver);
        totalWithdrawn += msg.value;
    }

    function _send(bytes memory message) private {
        IL1Messenger(L2_MESSENGER).sendToL1(message);
    }
}
