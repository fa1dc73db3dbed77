// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Does what a test tells it to do for each function: an account, a paymaster or a token of any kind.
contract ScriptedContract {
    enum Ending {
        Return,
        Revert,
        Invalid,
        EatGas
    }

    struct Call {
        address target;
        uint256 value;
        bytes data;
        bool mayFail;
    }

    mapping(bytes4 selector => Call[] calls) private _calls;
    mapping(bytes4 selector => Ending ending) private _endings;
    mapping(bytes4 selector => bytes output) private _outputs;
    mapping(bytes4 selector => bool isLogged) private _isLogged;

    /// @notice A function was called.
    event Called(
        bytes4 indexed selector,
        address indexed caller,
        address indexed origin,
        uint256 gasPrice,
        uint256 balance,
        bytes data
    );

    /// @notice Accept ether.
    receive() external payable {}

    /// @notice Run the script of the function that is called.
    fallback() external payable {
        _play();
    }

    /// @notice Set the script of a function: calls, then how it ends.
    function script(
        bytes4 selector,
        Call[] calldata calls,
        Ending ending,
        bytes calldata output,
        bool isLogged
    ) external {
        delete _calls[selector];
        for (uint256 i = 0; i < calls.length; ++i) _calls[selector].push(calls[i]);
        _endings[selector] = ending;
        _outputs[selector] = output;
        _isLogged[selector] = isLogged;
    }

    function _play() private {
        if (_isLogged[msg.sig]) {
            emit Called(
                msg.sig,
                msg.sender,
                // The tests are about the origin.
                // solhint-disable-next-line avoid-tx-origin
                tx.origin,
                tx.gasprice,
                address(this).balance,
                msg.data
            );
        }
        for (uint256 i = 0; i < _calls[msg.sig].length; ++i) _run(_calls[msg.sig][i]);
        _end(_endings[msg.sig], _outputs[msg.sig]);
    }

    function _run(Call storage call) private {
        (bool isSuccess, bytes memory output) = call.target.call{value: call.value}(call.data);
        if (isSuccess || call.mayFail) return;
        assembly ("memory-safe") {
            revert(add(0x20, output), mload(output))
        }
    }

    function _end(Ending ending, bytes memory output) private pure {
        if (ending == Ending.EatGas) {
            for (uint256 i = 0; ; ++i) {}
        }
        assembly ("memory-safe") {
            if eq(ending, 2) {
                invalid()
            }
            if eq(ending, 1) {
                revert(add(0x20, output), mload(output))
            }
            return(add(0x20, output), mload(output))
        }
    }
}
