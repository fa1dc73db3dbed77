// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice A contract that does what it is told, at once or when ether arrives.
contract Actor {
    address private _target;
    bytes private _data;
    /// @notice Whether the call that was made when ether arrived went well.
    bool public succeeded;
    /// @notice What it answered.
    bytes public answer;

    error Refused(bytes answer);

    /// @notice Call `target`, and pass on what it answers.
    function act(address target, bytes calldata data) external payable returns (bytes memory) {
        (bool success, bytes memory result) = target.call{value: msg.value}(data);
        if (!success) revert Refused(result);
        return result;
    }

    /// @notice Call `target` when ether arrives.
    function arm(address target, bytes calldata data) external {
        _target = target;
        _data = data;
    }

    /// @notice Take ether.
    receive() external payable {
        if (_target != address(0)) (succeeded, answer) = _target.call(_data);
    }
}
