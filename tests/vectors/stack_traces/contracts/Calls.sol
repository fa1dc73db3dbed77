// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.26;

error Refused(address who, string why);

library Checks {
    function positive(uint256 number) internal pure {
        require(number > 0, "internal library");
    }

    function even(uint256 number) external pure {
        require(number % 2 == 0, "external library");
    }
}

interface Answers {
    function answer() external view returns (uint256);
    function nothing() external;
}

abstract contract Base {
    uint256 internal stored;

    function inherited(uint256 number) public virtual {
        require(number < 5, "base");
        stored = number;
    }

    function abstractOne(uint256 number) public virtual;
}

contract Middle is Base {
    function inherited(uint256 number) public virtual override {
        super.inherited(number);
    }

    function abstractOne(uint256 number) public virtual override {
        require(number < 5, "middle");
    }
}

contract Callee {
    uint256 public count;

    function fail(string memory why) external pure {
        revert(why);
    }

    function failSilently() external pure {
        require(false);
    }

    function failCustom() external view {
        revert Refused(msg.sender, "custom");
    }

    function deep(uint256 depth) external returns (uint256) {
        if (depth == 0) {
            revert("deep");
        }
        return this.deep(depth - 1);
    }

    function burn() external pure {
        assembly {
            invalid()
        }
    }

    function panic(uint256 index) external pure returns (uint256) {
        uint256[] memory list = new uint256[](1);
        return list[index];
    }

    function loops() external {
        while (true) {
            count++;
        }
    }
}

contract OnlyReceives {
    receive() external payable {
        require(msg.value < 100, "receive");
    }
}

contract FallsBack {
    fallback() external {
        require(msg.data.length < 10, "fallback");
    }
}

contract Proxy {
    address private immutable implementation;

    constructor(address target) {
        implementation = target;
    }

    fallback() external payable {
        address target = implementation;
        assembly {
            calldatacopy(0, 0, calldatasize())
            let ok := delegatecall(gas(), target, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            switch ok
            case 0 {
                revert(0, returndatasize())
            }
            default {
                return(0, returndatasize())
            }
        }
    }
}

contract Calls is Middle {
    Callee private callee = new Callee();
    OnlyReceives private receiver = new OnlyReceives();
    FallsBack private fallsBack = new FallsBack();
    Proxy private proxy;

    constructor() payable {
        proxy = new Proxy(address(callee));
    }

    function external_() external view {
        callee.fail("external");
    }

    function externalFromInternal() external view {
        _forward();
    }

    function _forward() private view {
        callee.fail(
            "from internal"
        );
    }

    function silent() external view {
        callee.failSilently();
    }

    function custom() external view {
        callee.failCustom();
    }

    function panics() external view returns (uint256) {
        return callee.panic(7);
    }

    function recursive() external returns (uint256) {
        return callee.deep(2);
    }

    function burns() external view {
        callee.burn{gas: 50000}();
    }

    function calleeOutOfGas() external {
        callee.loops{gas: 50000}();
    }

    function caught(uint256 number) external view {
        try callee.fail("ignored") {} catch {}
        require(number == 0, "after a caught one");
    }

    function rethrown() external view {
        try callee.fail("rethrown") {} catch Error(string memory why) {
            revert(why);
        }
    }

    function lowLevel() external view {
        (bool ok, ) = address(callee).staticcall(abi.encodeCall(Callee.fail, ("low level")));
        require(ok, "low level call failed");
    }

    function bubbled() external view {
        (bool ok, bytes memory data) = address(callee).staticcall(abi.encodeCall(Callee.fail, ("bubbled")));
        if (!ok) {
            assembly {
                revert(add(data, 32), mload(data))
            }
        }
    }

    function nonContract() external view returns (uint256) {
        return Answers(address(0x1234)).answer();
    }

    function nonContractWithoutResult() external {
        Answers(address(0x1234)).nothing();
    }

    function wrongInterface() external view returns (uint256) {
        return Answers(address(callee)).answer();
    }

    function shortAnswer() external view returns (uint256) {
        return Answers(address(fallsBack)).answer();
    }

    function internalLibrary(uint256 number) external pure {
        Checks.positive(number);
    }

    function externalLibrary(uint256 number) external pure {
        Checks.even(number);
    }

    function throughProxy() external view {
        Callee(address(proxy)).fail("through proxy");
    }

    function transfers() external {
        payable(address(receiver)).transfer(50);
    }

    function sendsTooMuch() external {
        (bool ok, ) = address(receiver).call{value: 200}("");
        require(ok, "not sent");
    }

    function paysNonPayable() external {
        Payable(address(callee)).count{value: 1}();
    }

    function creates(uint256 number) external returns (address) {
        return address(new Created(number));
    }

    function creates2(uint256 number) external returns (address) {
        return address(new Created{salt: bytes32(number)}(number));
    }

    function inherited(uint256 number) public override {
        super.inherited(number);
    }

    function view_() external {
        Writes(address(this)).write();
    }

    function write() external {
        stored = 1;
    }

    function callsPrecompile() external view returns (bytes32) {
        (bool ok, bytes memory data) = address(8).staticcall(hex"1234");
        require(ok, "precompile");
        return bytes32(data);
    }
}

interface Payable {
    function count() external payable returns (uint256);
}

interface Writes {
    function write() external view;
}

contract Created {
    uint256 private immutable number;

    constructor(uint256 given) {
        number = _checked(given);
    }

    function _checked(uint256 given) private pure returns (uint256) {
        require(given < 10, "constructor");
        return given;
    }
}

contract BaseConstructor {
    constructor(uint256 given) {
        require(given < 10, "base constructor");
    }
}

contract DerivedConstructor is BaseConstructor {
    uint256 private immutable half;

    constructor(uint256 given) BaseConstructor(given / 2) {
        half = given;
    }
}

contract FailsInInitialiser {
    uint256 private zero;
    uint256 private inverse = 1 / zero;
}

contract WithoutConstructor {
    uint256 public number = 1;
}

contract PayableConstructor {
    constructor() payable {
        revert("payable constructor");
    }
}

contract CreatesInConstructor {
    Created private created;

    constructor() {
        created = new Created(50);
    }
}

contract FallbackOnly {
    uint256 private number;

    fallback() external {
        number = 1;
    }
}

contract ReceiveOnly {
    receive() external payable {}
}
