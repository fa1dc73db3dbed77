// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {StandardERC20} from "../shared/StandardERC20.sol";

/// @notice A token that describes itself as no token should.
contract OddToken is StandardERC20 {
    /// @notice What it does when asked for its name, symbol or decimals.
    enum Oddity {
        AnswersOneWord,
        Reverts,
        AnswersNothing,
        AnswersTooMuch,
        TakesAllGas,
        IsDear
    }

    Oddity private immutable ODDITY;

    constructor(Oddity oddity) {
        ODDITY = oddity;
    }

    /// @notice Odd.
    function name() external view returns (string memory) {
        _answer();
    }

    /// @notice Odd.
    function symbol() external view returns (string memory) {
        _answer();
    }

    /// @notice Odd.
    function decimals() external view returns (uint8) {
        _answer();
    }

    /// @notice Make `amount` for `to`.
    function mint(address to, uint256 amount) external returns (bool) {
        _mint(to, amount);
        return true;
    }

    function _answer() private view {
        uint256 length = ODDITY == Oddity.AnswersTooMuch ? 100_000 : 0;
        if (ODDITY == Oddity.AnswersOneWord || ODDITY == Oddity.IsDear) length = 32;
        bool reverts = ODDITY == Oddity.Reverts;
        bool loops = ODDITY == Oddity.TakesAllGas;
        uint256 price = ODDITY == Oddity.IsDear ? 45_000 : 0;
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
