// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.26;

// What a function can fail with, é and € before it: positions are counted in bytes.
error TooMuch(uint256 wanted, uint256 available);

function checkedByFreeFunction(uint256 number) pure returns (uint256) {
    require(number < 10, "free function");
    return number;
}

enum Colour {
    Red,
    Green
}

contract Failures {
    uint256[] private numbers;
    mapping(address => uint256) public balances;
    uint256 public immutable limit = 100;
    function() internal pure returns (uint256) private pointer;

    modifier below(uint256 number) {
        require(number < limit, "modifier");
        _;
    }

    modifier after_(uint256 number) {
        _;
        if (number > 10) {
            revert("after the body");
        }
    }

    function requireWithReason(uint256 number) external pure returns (uint256) {
        require(
            number > 10,
            "not enough"
        );
        return number;
    }

    function requireWithoutReason(uint256 number) external pure {
        require(number > 10);
    }

    function revertWithReason() external pure {
        revert("no way");
    }

    function revertWithoutReason() external pure {
        revert();
    }

    function customError(uint256 wanted) external view {
        if (wanted > limit) {
            revert TooMuch(wanted, limit);
        }
    }

    function assertion(uint256 number) external pure {
        assert(number > 10);
    }

    function overflow(uint256 number) external pure returns (uint256) {
        uint256 sum = number;
        sum = sum + type(uint256).max;
        return sum;
    }

    function underflow(uint256 number) external pure returns (uint256) {
        return number - 1000;
    }

    function divide(uint256 number, uint256 by) external pure returns (uint256) {
        return number / by;
    }

    function modulo(uint256 number, uint256 by) external pure returns (uint256) {
        return number % by;
    }

    function colour(uint256 number) external pure returns (Colour) {
        return Colour(number);
    }

    function at(uint256 index) external view returns (uint256) {
        return numbers[index];
    }

    function popEmpty() external {
        numbers.pop();
    }

    function largeMemory(uint256 length) external pure returns (uint256) {
        uint256[] memory made = new uint256[](length);
        return made.length;
    }

    function uninitialised() external view returns (uint256) {
        return pointer();
    }

    function inLoop(uint256 count) external pure returns (uint256 sum) {
        for (uint256 i = 0; i < count; i++) {
            require(i != 3, "third round");
            sum += i;
        }
    }

    function withModifier(uint256 number) external view below(number) returns (uint256) {
        return number;
    }

    function withModifierAfter(uint256 number) external pure after_(number) returns (uint256) {
        return number;
    }

    function bodyOfModified(uint256 number) external view below(number) after_(number) {
        require(number > 50, "body");
    }

    function callsInternal(uint256 number) external pure returns (uint256) {
        uint256 doubled = 2 * number;
        return _first(doubled);
    }

    function _first(uint256 number) internal pure returns (uint256) {
        _returns(number);
        return _second(number + 1);
    }

    function _second(uint256 number) private pure returns (uint256) {
        require(number < 10, "second");
        return number;
    }

    function _returns(uint256 number) private pure returns (uint256) {
        return number + 5;
    }

    function callsPublic(uint256 number) external pure returns (uint256) {
        return publicFunction(number);
    }

    function publicFunction(uint256 number) public pure returns (uint256) {
        if (number == 0) {
            revert("zero");
        }
        return number;
    }

    function recursive(uint256 number) public pure returns (uint256) {
        require(number != 0, "bottom");
        return recursive(number - 1);
    }

    function callsFree(uint256 number) external pure returns (uint256) {
        return checkedByFreeFunction(number);
    }

    function assemblyRevert() external pure {
        assembly {
            revert(0, 0)
        }
    }

    function assemblyInvalid() external pure {
        assembly {
            invalid()
        }
    }

    function outOfGas() external pure returns (uint256 sum) {
        while (true) {
            sum = uint256(keccak256(abi.encode(sum)));
        }
    }

    function overloaded(uint256 number) external pure {
        require(number == 0, "number");
    }

    function overloaded(bool flag) external pure {
        require(flag, "flag");
    }

    function takesText(string calldata text) external pure returns (uint256) {
        return bytes(text).length;
    }

    function takesAddress(address account) external pure returns (address) {
        return account;
    }

    function payable_() external payable {
        require(msg.value == 0, "paid");
    }

    function multiLine(
        uint256 first,
        uint256 second
    )
        external
        pure
        returns (uint256)
    {
        return
            first +
            second /
            (first - first);
    }

    function ternary(bool flag) external pure returns (uint256) {
        return flag ? _second(1) : _second(100);
    }

    modifier guard(uint256 number) {
        _checkGuard(number);
        _;
    }

    function _checkGuard(uint256 number) private pure {
        require(number < 5, "guard");
    }

    function guarded(uint256 number) external pure guard(number) returns (uint256) {
        return number;
    }

    function foreign() external pure {
        // Ein Kommentar mit Umlauten: äöü; {}
        revert(unicode"übel {");
    }
}
