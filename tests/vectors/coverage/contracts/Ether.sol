// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Ether {
    uint256 public received;
    uint256 public unknown;

    receive() external payable {
        received += msg.value;
    }

    fallback() external payable {
        if (msg.value > 0) {
            received += msg.value;
        }
        unknown++;
    }

    function send(address payable to, uint256 amount) external {
        (bool ok, ) = to.call{value: amount}("");
        require(ok, "not sent");
    }
}
