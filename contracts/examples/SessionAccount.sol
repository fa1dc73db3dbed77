// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {Transaction} from "../l2/interfaces/IAccount.sol";
import {IPaymasterFlow} from "../l2/interfaces/IPaymaster.sol";
import {AccountBase} from "./AccountBase.sol";

/// @notice An account whose owner lets other keys call one contract each, until they have spent their budget.
/// @dev Sessions end by budget, not by time: a validation may not read the clock.
contract SessionAccount is AccountBase {
    /// @notice What a key may do: call `target`, and spend `budget` wei as value and fees.
    struct Session {
        address target;
        uint256 budget;
    }

    uint256 private constant SELECTOR = 4;

    /// @notice The key that may do everything.
    address public immutable owner;
    /// @notice The sessions by their keys.
    mapping(address key => Session session) public sessions;

    error InvalidOwner(address owner);
    error InvalidTarget(address target);
    error InvalidKey(address key);

    constructor(address owner_) {
        if (owner_ == address(0)) revert InvalidOwner(owner_);
        owner = owner_;
    }

    /// @notice Open the session of a key, or end it by a budget of zero. The owner sends this to the account itself.
    function setSession(address key, address target, uint256 budget) external {
        if (msg.sender != address(this)) revert Unauthorized(msg.sender);
        // A bad signature recovers to zero.
        if (key == address(0)) revert InvalidKey(key);
        // A key that may call the account could give itself any session.
        if (target == address(this)) revert InvalidTarget(target);
        sessions[key] = Session(target, budget);
    }

    /// @dev Only the owner signs messages; sessions sign transactions.
    function _isSigned(
        bytes32 hash,
        bytes calldata signature
    ) internal view override returns (bool) {
        return _signer(hash, signature) == owner;
    }

    function _agrees(
        bytes32 suggestedSignedHash,
        Transaction calldata transaction
    ) internal override returns (bool) {
        address signer = _signer(suggestedSignedHash, transaction.signature);
        return signer == owner || _spend(sessions[signer], transaction);
    }

    /// @dev A session without a budget is none: nobody opened it, it is spent, or the owner has ended it. So an
    /// invalid signature, which is that of nobody, has none either.
    function _spend(
        Session storage session,
        Transaction calldata transaction
    ) private returns (bool) {
        uint256 cost = transaction.value;
        if (transaction.paymaster == 0) {
            cost += transaction.gasLimit * transaction.maxFeePerGas;
        } else if (!_isGeneral(transaction.paymasterInput)) {
            // An approval would give tokens of the account away.
            return false;
        }
        if (address(uint160(transaction.to)) != session.target) return false;
        if (session.budget == 0 || cost > session.budget) return false;
        session.budget -= cost;
        return true;
    }

    function _isGeneral(bytes calldata input) private pure returns (bool) {
        return
            input.length >= SELECTOR && bytes4(input[:SELECTOR]) == IPaymasterFlow.general.selector;
    }
}
