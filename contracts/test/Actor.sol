// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice A contract that makes a given call, at once or when it receives ether.
contract Actor {
    address private _target;
    bytes private _data;
    /// @notice Whether the call on receiving ether succeeded.
    bool public succeeded;
    /// @notice The return data of that call.
    bytes public returnData;

    error Rejected(bytes returnData);

    /// @notice Call `target`, and return its result.
    function act(address target, bytes calldata data) external payable returns (bytes memory) {
        (bool success, bytes memory result) = target.call{value: msg.value}(data);
        if (!success) revert Rejected(result);
        return result;
    }

    /// @notice Call `target` on receiving ether.
    function arm(address target, bytes calldata data) external {
        _target = target;
        _data = data;
    }

    /// @notice Accept ether.
    receive() external payable {
        if (_target != address(0)) (succeeded, returnData) = _target.call(_data);
    }
}
