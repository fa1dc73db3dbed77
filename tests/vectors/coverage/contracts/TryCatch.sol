// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Target {
    function pick(uint256 how) external pure returns (uint256) {
        if (how == 1) revert("refused");
        if (how == 2) assert(false);
        if (how == 3) revert();
        return how;
    }
}

contract TryCatch {
    Target public target;
    uint256 public outcome;

    constructor() {
        target = new Target();
    }

    function attempt(uint256 how) external {
        try target.pick(how) returns (uint256 found) {
            outcome = found;
        } catch Error(string memory reason) {
            outcome = 1000 + bytes(reason).length;
        } catch Panic(uint256 code) {
            outcome = 2000 + code;
        } catch {
            outcome = 3000;
        }
    }

    function ignore(uint256 how) external {
        try target.pick(how) {
            outcome = 1;
        } catch {}
    }

    function create() external returns (bool) {
        try new Target() returns (Target made) {
            target = made;
        } catch {
            return false;
        }
        return true;
    }
}
