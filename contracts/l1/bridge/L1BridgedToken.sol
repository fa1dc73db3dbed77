// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {StandardERC20} from "../../shared/StandardERC20.sol";

/// @notice A token that lives on an L2, as it is on L1. The vault makes it when it arrives, and destroys
/// it when it returns.
/// @dev It answers for its name, symbol and decimals byte by byte as the token on L2 did, be that odd:
/// nothing has to be understood, and nothing is lost when it travels on.
contract L1BridgedToken is StandardERC20 {
    /// @notice The vault that makes and destroys it.
    address public immutable nativeTokenVault;
    /// @notice The asset that it is.
    bytes32 public immutable assetId;
    /// @notice The token on the chain where it lives.
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

    /// @notice The name for people.
    function name() external view returns (string memory) {
        _answer(_name);
    }

    /// @notice The abbreviation for people.
    function symbol() external view returns (string memory) {
        _answer(_symbol);
    }

    /// @notice How many digits of an amount stand behind the point.
    function decimals() external view returns (uint8) {
        _answer(_decimals);
    }

    /// @notice Make `amount` for `account`. Only the vault may.
    function bridgeMint(address account, uint256 amount) external onlyVault {
        _mint(account, amount);
    }

    /// @notice Destroy `amount` of what `account` owns. Only the vault may.
    function bridgeBurn(address account, uint256 amount) external onlyVault {
        _burn(account, amount);
    }

    function _answer(bytes memory data) private pure {
        assembly {
            return(add(data, 0x20), mload(data))
        }
    }
}
