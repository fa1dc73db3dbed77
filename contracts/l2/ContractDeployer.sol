// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_NONCE_HOLDER} from "../shared/Addresses.sol";
import {INonceHolder} from "./interfaces/INonceHolder.sol";
import {AccountCode} from "./libraries/AccountCode.sol";

/// @notice Deploys contracts by the interface of the ZK Stack.
/// @dev This chain runs EVM bytecode. A deployment passes a versioned hash: one that starts with 0x02 is the
/// hash of EVM init code, which is in `input`, followed by the constructor's arguments. One that starts with
/// 0x01 is EraVM bytecode, and is rejected. Addresses are those of CREATE2 from this contract; each caller has
/// its own range of salts, so that it cannot take an address of another caller.
contract ContractDeployer {
    enum AccountAbstractionVersion {
        None,
        Version1
    }

    enum AccountNonceOrdering {
        KeyedSequential,
        Arbitrary
    }

    struct AccountInfo {
        AccountAbstractionVersion supportedAAVersion;
        AccountNonceOrdering nonceOrdering;
    }

    bytes32 private constant BY_COUNT = keccak256("zksyncCreate");
    bytes32 private constant BY_SALT = keccak256("zksyncCreate2");
    uint256 private constant WORD = 32;
    bytes1 private constant ERAVM = 0x01;
    bytes1 private constant EVM = 0x02;
    uint160 private constant LAST_SYSTEM_ADDRESS = 0xffff;

    /// @dev The node reads the version, so its slot must not move.
    mapping(address account => AccountInfo info) private _accounts;
    /// @dev Zero, except on a fork: its deployment nonces begin at zero again, and what the copied chain deployed with
    /// the same ones keeps its addresses.
    bytes32 private _countSalt;

    /// @notice `deployer` deployed a contract whose code has the versioned hash `bytecodeHash`.
    event ContractDeployed(
        address indexed deployer,
        bytes32 indexed bytecodeHash,
        address indexed contractAddress
    );

    /// @notice `account` is an account of version `aaVersion` from now on.
    event AccountVersionUpdated(address indexed account, AccountAbstractionVersion aaVersion);

    error InvalidNonceOrderingChange();
    error UnknownBytecodeVersion(bytes32 bytecodeHash);
    error BytecodeHashMismatch(bytes32 expected, bytes32 supplied);
    error BytecodeTooLong(uint256 size);
    error DeploymentFailed();

    /// @notice Deploy a contract at an address that depends on the caller's earlier deployments.
    /// @param bytecodeHash The versioned hash of `input`.
    /// @param input EVM init code with the constructor's arguments.
    function create(
        bytes32,
        bytes32 bytecodeHash,
        bytes calldata input
    ) external payable returns (address) {
        return _create(bytecodeHash, input, AccountAbstractionVersion.None);
    }

    /// @notice As `create`, and record that the contract is an account of version `aaVersion`.
    function createAccount(
        bytes32,
        bytes32 bytecodeHash,
        bytes calldata input,
        AccountAbstractionVersion aaVersion
    ) external payable returns (address) {
        return _create(bytecodeHash, input, aaVersion);
    }

    /// @notice Deploy a contract at the address that `getNewAddressCreate2` returns.
    /// @param salt Any value; deploying the same code twice with the same salt reverts.
    /// @param bytecodeHash The versioned hash of `input`.
    /// @param input EVM init code with the constructor's arguments.
    function create2(
        bytes32 salt,
        bytes32 bytecodeHash,
        bytes calldata input
    ) external payable returns (address) {
        return _create2(salt, bytecodeHash, input, AccountAbstractionVersion.None);
    }

    /// @notice As `create2`, and record that the contract is an account of version `aaVersion`.
    function create2Account(
        bytes32 salt,
        bytes32 bytecodeHash,
        bytes calldata input,
        AccountAbstractionVersion aaVersion
    ) external payable returns (address) {
        return _create2(salt, bytecodeHash, input, aaVersion);
    }

    /// @notice Deploy EVM init code at an address that depends on the caller's earlier deployments.
    /// @return evmGasUsed The gas that the deployment used.
    /// @return newAddress The address of the contract.
    function createEVM(
        bytes calldata initCode
    ) external payable returns (uint256 evmGasUsed, address newAddress) {
        uint256 before = gasleft();
        newAddress = _deploy(_nextSalt(), initCode, AccountAbstractionVersion.None);
        evmGasUsed = before - gasleft();
    }

    /// @notice Deploy EVM init code at the address that `getNewAddressCreate2` returns.
    /// @return evmGasUsed The gas that the deployment used.
    /// @return newAddress The address of the contract.
    function create2EVM(
        bytes32 salt,
        bytes calldata initCode
    ) external payable returns (uint256 evmGasUsed, address newAddress) {
        uint256 before = gasleft();
        _nextSalt();
        newAddress = _deploy(_saltOf(msg.sender, salt), initCode, AccountAbstractionVersion.None);
        evmGasUsed = before - gasleft();
    }

    /// @notice Make the caller an account of another version: 1 can send transactions, 0 cannot.
    function updateAccountVersion(AccountAbstractionVersion version) external {
        _accounts[msg.sender].supportedAAVersion = version;
        emit AccountVersionUpdated(msg.sender, version);
    }

    /// @notice Revert: all accounts use their nonces in order.
    function updateNonceOrdering(AccountNonceOrdering) external pure {
        revert InvalidNonceOrderingChange();
    }

    /// @notice The account information that was recorded when a contract was deployed.
    function getAccountInfo(address account) external view returns (AccountInfo memory info) {
        return _accounts[account];
    }

    /// @notice The account abstraction version of `account`; an externally owned account has one, too.
    function extendedAccountVersion(
        address account
    ) external view returns (AccountAbstractionVersion) {
        if (uint160(account) > LAST_SYSTEM_ADDRESS && AccountCode.hasKey(account)) {
            return AccountAbstractionVersion.Version1;
        }
        return _accounts[account].supportedAAVersion;
    }

    /// @notice The address of a contract that `sender` deploys by `create2` with the init code `input`.
    function getNewAddressCreate2(
        address sender,
        bytes32 bytecodeHash,
        bytes32 salt,
        bytes calldata input
    ) external view returns (address) {
        _check(bytecodeHash, input);
        return _addressOf(_saltOf(sender, salt), input);
    }

    function _create(
        bytes32 bytecodeHash,
        bytes calldata input,
        AccountAbstractionVersion version
    ) private returns (address) {
        _check(bytecodeHash, input);
        return _deploy(_nextSalt(), input, version);
    }

    function _create2(
        bytes32 salt,
        bytes32 bytecodeHash,
        bytes calldata input,
        AccountAbstractionVersion version
    ) private returns (address) {
        _check(bytecodeHash, input);
        _nextSalt();
        return _deploy(_saltOf(msg.sender, salt), input, version);
    }

    /// @dev Increments the caller's deployment nonce, and returns the salt for it.
    function _nextSalt() private returns (bytes32) {
        uint256 count = INonceHolder(L2_NONCE_HOLDER).incrementDeploymentNonce(msg.sender);
        return keccak256(abi.encode(BY_COUNT, msg.sender, count)) ^ _countSalt;
    }

    /// @dev Records the version before the constructor runs, which may choose another one. What an earlier contract
    /// at this address has recorded is not the new one's.
    function _deploy(
        bytes32 callerSalt,
        bytes memory initCode,
        AccountAbstractionVersion version
    ) private returns (address newAddress) {
        _accounts[_addressOf(callerSalt, initCode)].supportedAAVersion = version;
        assembly ("memory-safe") {
            newAddress := create2(callvalue(), add(initCode, 0x20), mload(initCode), callerSalt)
            if and(iszero(newAddress), gt(returndatasize(), 0)) {
                let reason := mload(0x40)
                returndatacopy(reason, 0, returndatasize())
                revert(reason, returndatasize())
            }
        }
        if (newAddress == address(0)) revert DeploymentFailed();
        emit ContractDeployed(msg.sender, _versionedHash(newAddress.code), newAddress);
    }

    function _addressOf(bytes32 callerSalt, bytes memory initCode) private view returns (address) {
        bytes32 hash = keccak256(
            abi.encodePacked(bytes1(0xff), address(this), callerSalt, keccak256(initCode))
        );
        return address(uint160(uint256(hash)));
    }

    function _saltOf(address sender, bytes32 salt) private pure returns (bytes32) {
        return keccak256(abi.encode(BY_SALT, sender, salt));
    }

    function _check(bytes32 bytecodeHash, bytes calldata input) private pure {
        if (bytecodeHash[0] == ERAVM) {
            // A string, because clients show it and know no custom error of this contract.
            // solhint-disable-next-line gas-custom-errors, reason-string
            revert("EraVM bytecode cannot run on this chain: compile for the EVM");
        }
        if (bytecodeHash[0] != EVM) revert UnknownBytecodeVersion(bytecodeHash);
        bytes32 actual = _versionedHash(input);
        if (actual != bytecodeHash) revert BytecodeHashMismatch(actual, bytecodeHash);
    }

    /// @dev Version, length, and the end of the SHA-256 of the code padded to an odd number of words.
    function _versionedHash(bytes memory code) private pure returns (bytes32) {
        uint256 size = code.length;
        if (size > type(uint16).max) revert BytecodeTooLong(size);
        uint256 words = ((size + WORD - 1) / WORD) | 1;
        bytes memory padding = new bytes(words * WORD - size);
        uint256 tail = uint256(sha256(bytes.concat(code, padding))) & (type(uint256).max >> WORD);
        return bytes32((uint256(uint8(EVM)) << 248) | (size << 224) | tail);
    }
}
