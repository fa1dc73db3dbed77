// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {StandardERC20} from "../shared/StandardERC20.sol";

/// @notice A token with invalid metadata.
contract OddToken is StandardERC20 {
    /// @notice What a call of its name, symbol or decimals does.
    enum Oddity {
        ReturnsOneWord,
        Reverts,
        ReturnsNothing,
        ReturnsTooMuch,
        UsesAllGas,
        IsExpensive
    }

    Oddity private immutable ODDITY;

    constructor(Oddity oddity) {
        ODDITY = oddity;
    }

    /// @notice Return or revert according to the oddity.
    function name() external view returns (string memory) {
        _misbehave();
    }

    /// @notice Return or revert according to the oddity.
    function symbol() external view returns (string memory) {
        _misbehave();
    }

    /// @notice Return or revert according to the oddity.
    function decimals() external view returns (uint8) {
        _misbehave();
    }

    /// @notice Mint `amount` to `to`.
    function mint(address to, uint256 amount) external returns (bool) {
        _mint(to, amount);
        return true;
    }

    function _misbehave() private view {
        uint256 length = ODDITY == Oddity.ReturnsTooMuch ? 100_000 : 0;
        if (ODDITY == Oddity.ReturnsOneWord || ODDITY == Oddity.IsExpensive) length = 32;
        bool reverts = ODDITY == Oddity.Reverts;
        bool loops = ODDITY == Oddity.UsesAllGas;
        uint256 price = ODDITY == Oddity.IsExpensive ? 45_000 : 0;
        assembly {
            if loops {
                invalid()
            }
            if price {
                if lt(gas(), price) {
                    invalid()
                }
                let end := sub(gas(), price)
                for {} gt(gas(), end) {} {}
            }
            mstore(0, "ODD")
            if reverts {
                revert(0, 32)
            }
            return(0, length)
        }
    }
}
