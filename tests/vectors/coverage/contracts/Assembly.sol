// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Assembly {
    function absolute(int256 value) external pure returns (uint256 result) {
        assembly ("memory-safe") {
            result := value
            if slt(value, 0) {
                result := sub(0, value)
            }
        }
    }

    function name(uint256 value) external pure returns (uint256 result) {
        assembly {
            switch value
            case 0 {
                result := 10
            }
            case 1 {
                result := 11
            }
            default {
                result := 12
            }
        }
    }

    function power(uint256 base, uint256 exponent) external pure returns (uint256 result) {
        assembly {
            function times(a, b) -> c {
                c := mul(a, b)
            }
            result := 1
            for { let i := 0 } lt(i, exponent) { i := add(i, 1) } {
                result := times(result, base)
            }
        }
    }

    function length(address account) external view returns (uint256 size) {
        assembly {
            size := extcodesize(account)
        }
    }
}
