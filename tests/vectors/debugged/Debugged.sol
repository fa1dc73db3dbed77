// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

library Sums {
    function add(uint256 a, uint256 b) internal pure returns (uint256 sum) {
        sum = a + b;
    }
}

struct Account {
    uint128 amount;
    bool open;
    string name;
    uint256[] history;
}

contract Counted {
    uint256 public count;
    uint256 private immutable step;

    constructor(uint256 by) {
        step = by;
        count = by;
    }

    function increase(uint256 limit) external returns (uint256 now_) {
        count += step;
        require(count < limit, "too many");
        now_ = count;
    }
}

contract Debugged {
    enum Kind {
        Nothing,
        Deposit,
        Payment
    }

    uint128 public total;
    bool public paused;
    address public owner;
    string public title = "a vault";
    mapping(address => uint256) public balances;
    mapping(address => mapping(uint256 => Account)) internal accounts;
    uint64[] public values;
    bytes32[3] internal marks;
    Kind internal kind;
    int16 internal offset = -7;
    Counted internal counted;

    event Paid(address indexed to, uint256 amount);

    error TooMuch(uint256 asked, uint256 available);

    modifier running(uint256 least) {
        uint256 available = total;
        require(available >= least, "stopped");
        _;
    }

    constructor() {
        owner = msg.sender;
        counted = new Counted(3);
    }

    function deposit(address to, uint128 amount) external returns (uint256 after_) {
        uint256 before = balances[to];
        balances[to] = before + amount;
        total += amount;
        kind = Kind.Deposit;
        after_ = balances[to];
        emit Paid(to, amount);
    }

    function open(address to, uint256 id, string calldata name, uint256[] memory history) external {
        Account storage account = accounts[to][id];
        account.amount = 5;
        account.open = true;
        account.name = name;
        for (uint256 i = 0; i < history.length; i++) {
            uint256 doubled = _double(history[i]);
            account.history.push(doubled);
        }
        marks[2] = keccak256(bytes(name));
        values.push(uint64(id));
    }

    function pay(address to, uint256 amount) external running(1) {
        uint256 left = balances[msg.sender];
        if (amount > left) {
            revert TooMuch(amount, left);
        }
        balances[msg.sender] = left - amount;
        balances[to] += amount;
    }

    function tryToCount(uint256 limit) external returns (bool ok, bytes memory data) {
        paused = true;
        (ok, data) = address(counted).call(abi.encodeCall(Counted.increase, (limit)));
        paused = ok;
    }

    function locals(int8 small, bool flag, bytes3 tag) public pure returns (uint256 result) {
        uint256 first = 11;
        int256 second = -5;
        {
            address inner = address(0xabcd);
            result = uint160(inner);
        }
        bytes4 third = 0x01020304;
        (uint256 fourth, bool fifth) = _pair(first);
        if (flag) {
            uint8 hidden = 9;
            result += hidden;
        }
        result = Sums.add(result, fourth) + uint256(uint32(third)) + (fifth ? 1 : 0);
        result += uint256(int256(small) - second) + uint24(tag);
    }

    function _double(uint256 value) internal pure returns (uint256) {
        return value * 2;
    }

    function _pair(uint256 value) private pure returns (uint256, bool even) {
        even = value % 2 == 0;
        return (value + 1, even);
    }
}
