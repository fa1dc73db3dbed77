// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Takes messages of other chains, in every way that one may: it can return anything, revert, call back, or
/// use all of its gas.
contract Recipient {
    /// @notice What the last message was.
    bytes32 public receiveId;
    /// @notice Who has sent it.
    bytes public sender;
    /// @notice What it said.
    bytes public payload;
    /// @notice How many messages have come.
    uint256 public count;

    bytes4 private _returned = this.receiveMessage.selector;
    address private _target;
    bytes private _call;
    bool private _isEndless;

    error TakesNothing();

    /// @notice Set what is returned.
    function answer(bytes4 returned) external {
        _returned = returned;
    }

    /// @notice Set what is called when a message comes.
    function callBack(address target, bytes calldata data) external {
        _target = target;
        _call = data;
    }

    /// @notice Use all gas from now on.
    function loop() external {
        _isEndless = true;
    }

    /// @notice Take a message.
    function receiveMessage(
        bytes32 receiveId_,
        bytes calldata sender_,
        bytes calldata payload_
    ) external payable returns (bytes4) {
        if (_returned == bytes4(0)) revert TakesNothing();
        while (_isEndless) ++count;
        receiveId = receiveId_;
        sender = sender_;
        payload = payload_;
        ++count;
        if (_target != address(0)) {
            (bool success, bytes memory returned) = _target.call(_call);
            if (!success) {
                assembly ("memory-safe") {
                    revert(add(returned, 0x20), mload(returned))
                }
            }
        }
        return _returned;
    }
}
