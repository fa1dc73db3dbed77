// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {MultisigAccount} from "./MultisigAccount.sol";

/// @notice Deploys multisig accounts at addresses that are known, and can have ether, before.
contract AccountFactory {
    /// @notice An account was deployed.
    event AccountDeployed(address indexed account, address[] owners, uint256 threshold);

    /// @notice Deploy an account. It does not matter who calls: the address depends on the owners.
    function deployAccount(
        bytes32 salt,
        address[] calldata owners,
        uint256 threshold
    ) external returns (address account) {
        account = address(new MultisigAccount{salt: salt}(owners, threshold));
        emit AccountDeployed(account, owners, threshold);
    }

    /// @notice The address that an account has, or would have (CREATE2).
    function accountAddress(
        bytes32 salt,
        address[] calldata owners,
        uint256 threshold
    ) external view returns (address) {
        bytes32 codeHash = keccak256(
            abi.encodePacked(type(MultisigAccount).creationCode, abi.encode(owners, threshold))
        );
        bytes32 hash = keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, codeHash));
        return address(uint160(uint256(hash)));
    }
}
