// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_DEPLOYER} from "../shared/Addresses.sol";

/// @notice Deploys for everybody alike: addresses depend on the salt and the code, and not on the caller.
contract Create2Factory {
    /// @notice See `ContractDeployer.create2`, which this contract calls in its own name.
    function create2(bytes32, bytes32, bytes calldata) external payable returns (address) {
        _relay();
    }

    /// @notice See `ContractDeployer.create2Account`, which this contract calls in its own name.
    function create2Account(
        bytes32,
        bytes32,
        bytes calldata,
        uint8
    ) external payable returns (address) {
        _relay();
    }

    /// @dev Passes the call on as it came, and ends it with the answer.
    function _relay() private {
        (bool success, bytes memory answer) = L2_DEPLOYER.call{value: msg.value}(msg.data);
        assembly ("memory-safe") {
            if success {
                return(add(answer, 0x20), mload(answer))
            }
            revert(add(answer, 0x20), mload(answer))
        }
    }
}
