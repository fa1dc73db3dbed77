// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.26;

import {Console} from "./Console.sol";
import {Token} from "./Token.sol";

error TooLittle(uint256 out, uint256 minOut);

contract Pool {
    Token public tokenA;
    Token public tokenB;
    uint256 public reserveA;
    uint256 public reserveB;

    event Swapped(address indexed by, uint256 amountIn, uint256 out);

    constructor(Token a, Token b) {
        tokenA = a;
        tokenB = b;
    }

    /// What was sent here before becomes the reserves.
    function fill() external {
        reserveA = tokenA.balanceOf(address(this));
        reserveB = tokenB.balanceOf(address(this));
    }

    /// Takes from one side, gives from the other.
    function swap(address to, uint256 amountIn, uint256 minOut)
        external
        returns (uint256 out)
    {
        (uint256 a, uint256 b) = (reserveA, reserveB);
        out = amountIn * b / (a + amountIn);
        Console.log("out %d, at least %d", out, minOut);
        if (out < minOut) revert TooLittle(out, minOut);

        reserveA = a + amountIn;
        reserveB = b - out;
        tokenB.transfer(to, out);
        emit Swapped(msg.sender, amountIn, out);
    }

    function quote(uint256 amountIn)
        external
        view
        returns (uint256)
    {
        return amountIn * reserveB / (reserveA + amountIn);
    }

    /// Runs many steps, for pages that have to bear them.
    function sum(uint256 rounds) external pure returns (uint256 total) {
        for (uint256 i = 0; i < rounds; i++) {
            total += i;
        }
    }
}
