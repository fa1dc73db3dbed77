// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {AddressAliasHelper} from "../../shared/AddressAliasHelper.sol";

/// @notice The account on L2 of an account on L1.
/// @dev A contract on L1 controls its alias on L2, not the account with its own address.
library L2Account {
    /// @notice The account of the sender of a call.
    function ofCaller(address sender) internal view returns (address) {
        // solhint-disable-next-line avoid-tx-origin
        return sender == tx.origin ? sender : _alias(sender);
    }

    /// @notice The account of the recipient that was `chosen`, or of the sender if there is none.
    function ofRecipient(address chosen, address sender) internal view returns (address) {
        if (chosen == address(0)) return ofCaller(sender);
        return _isContract(chosen) ? _alias(chosen) : chosen;
    }

    /// @dev The code of an account that delegates (EIP-7702) is 23 bytes that start with 0xef0100.
    function _isContract(address account) private view returns (bool) {
        bytes memory code = account.code;
        return code.length != 0 && !(code.length == 23 && bytes3(code) == 0xef0100);
    }

    function _alias(address account) private pure returns (address) {
        return AddressAliasHelper.applyL1ToL2Alias(account);
    }
}
