// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {Counter} from "../src/Counter.sol";

interface Vm {
    function envAddress(string calldata) external view returns (address);
}

contract ForkTest {
    bool public constant IS_TEST = true;
    Vm private constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    function test_the_fork_has_the_counter() external {
        Counter counter = Counter(VM.envAddress("COUNTER"));
        require(counter.count() == 42, "another count");
        counter.increment();
        require(counter.count() == 43, "not counted");
    }

    function test_the_fork_has_the_balance() external view {
        require(0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266.balance > 1 ether, "no ether");
        require(block.chainid == 31337 || block.chainid == 270, "another chain");
    }
}
