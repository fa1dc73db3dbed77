// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.26;

import {Console} from "./Console.sol";
import {Pool} from "./Pool.sol";
import {Token} from "./Token.sol";

contract Router {
    uint256 public swaps;

    function swap(Pool[] calldata pools, uint256 amountIn, uint256 minOut)
        external
        returns (uint256 out)
    {
        swaps += 1;
        out = amountIn;
        for (uint256 i = 0; i < pools.length; i++) {
            Console.log("hop %d of %d", i + 1, pools.length);
            uint256 least = i + 1 == pools.length ? minOut : 0;
            out = _hop(pools[i], out, least);
        }
    }

    function _hop(Pool pool, uint256 amountIn, uint256 minOut) private returns (uint256) {
        uint256 expected = pool.quote(amountIn);
        pool.tokenA().transferFrom(msg.sender, address(pool), amountIn);
        uint256 out = pool.swap(msg.sender, amountIn, minOut);
        assert(out == expected);
        return out;
    }
}
