// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
function half(uint256 value) pure returns (uint256) {
    return value / 2;
}

function neverCalled(uint256 value) pure returns (uint256) {
    return value / 3;
}

library Inner {
    struct Counter {
        uint256 value;
    }

    function add(Counter storage self, uint256 by) internal {
        if (by > 100) {
            by = 100;
        }
        self.value += by;
    }

    function unusedInner(Counter storage self) internal {
        self.value = 0;
    }
}

library Outer {
    function clamp(uint256 value, uint256 limit) external pure returns (uint256) {
        return value > limit ? limit : value;
    }

    function unusedOuter(uint256 value) external pure returns (uint256) {
        return value + 1;
    }
}

contract Libraries {
    using Inner for Inner.Counter;

    Inner.Counter private _counter;

    function count(uint256 by) external returns (uint256) {
        _counter.add(by);
        return half(_counter.value);
    }

    function clamped(uint256 value) external pure returns (uint256) {
        return Outer.clamp(value, 10);
    }
}
