// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {Counter} from "../src/Counter.sol";

interface Vm {
    function startBroadcast(address) external;
    function stopBroadcast() external;
}

contract Deploy {
    bool public constant IS_SCRIPT = true;
    Vm private constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    function run() external returns (Counter made) {
        VM.startBroadcast(0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266);
        made = new Counter(41);
        made.increment();
        VM.stopBroadcast();
        require(made.count() == 42, "not counted");
    }
}
