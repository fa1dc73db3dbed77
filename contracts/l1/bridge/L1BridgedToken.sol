// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {StandardERC20} from "../../shared/StandardERC20.sol";

/// @notice The bridged token, on L1, of a token of an L2. The vault mints it on withdrawal, and burns it on
/// deposit.
/// @dev It returns its name, symbol and decimals byte by byte as the token on L2 did, valid or not: nothing
/// has to be decoded, and nothing is lost when it is bridged further.
contract L1BridgedToken is StandardERC20 {
    /// @notice The vault that mints and burns it.
    address public immutable nativeTokenVault;
    /// @notice The asset id of the token.
    bytes32 public immutable assetId;
    /// @notice The token's address on its origin chain.
    address public immutable originToken;

    bytes private _name;
    bytes private _symbol;
    bytes private _decimals;

    error Unauthorized(address caller);

    modifier onlyVault() {
        if (msg.sender != nativeTokenVault) revert Unauthorized(msg.sender);
        _;
    }

    constructor(
        bytes32 assetId_,
        address originToken_,
        bytes memory name_,
        bytes memory symbol_,
        bytes memory decimals_
    ) {
        nativeTokenVault = msg.sender;
        assetId = assetId_;
        originToken = originToken_;
        _name = name_;
        _symbol = symbol_;
        _decimals = decimals_;
    }

    /// @notice The name of the token.
    function name() external view returns (string memory) {
        _returnRaw(_name);
    }

    /// @notice The symbol of the token.
    function symbol() external view returns (string memory) {
        _returnRaw(_symbol);
    }

    /// @notice The number of decimals of an amount.
    function decimals() external view returns (uint8) {
        _returnRaw(_decimals);
    }

    /// @notice Mint `amount` to `account`. Only the vault.
    function bridgeMint(address account, uint256 amount) external onlyVault {
        _mint(account, amount);
    }

    /// @notice Burn `amount` of `account`. Only the vault.
    function bridgeBurn(address account, uint256 amount) external onlyVault {
        _burn(account, amount);
    }

    function _returnRaw(bytes memory data) private pure {
        assembly {
            return(add(data, 0x20), mload(data))
        }
    }
}
