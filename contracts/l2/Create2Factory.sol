// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_DEPLOYER} from "../shared/Addresses.sol";

/// @notice Deploys contracts at addresses that depend on the salt and the code, but not on the caller.
contract Create2Factory {
    /// @notice See `ContractDeployer.create2`, whose caller is this contract.
    function create2(bytes32, bytes32, bytes calldata) external payable returns (address) {
        _relay();
    }

    /// @notice See `ContractDeployer.create2Account`, whose caller is this contract.
    function create2Account(
        bytes32,
        bytes32,
        bytes calldata,
        uint8
    ) external payable returns (address) {
        _relay();
    }

    /// @dev Forwards the call unchanged, and returns its result.
    function _relay() private {
        (bool success, bytes memory returnData) = L2_DEPLOYER.call{value: msg.value}(msg.data);
        assembly ("memory-safe") {
            if success {
                return(add(returnData, 0x20), mload(returnData))
            }
            revert(add(returnData, 0x20), mload(returnData))
        }
    }
}
