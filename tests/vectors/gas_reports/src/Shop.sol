// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

/// Called with its code in the account of the caller.
library Prices {
    function withTax(uint256 price, uint256 percent) external pure returns (uint256) {
        return price + (price * percent) / 100;
    }
}

contract Shop {
    uint256 public immutable tax;
    mapping(address => uint256) public bought;
    uint256[] public prices;

    error TooLittle(uint256 sent, uint256 price);

    constructor(uint256 percent) payable {
        tax = percent;
    }

    function add(uint256 price) external {
        prices.push(price);
    }

    function add(uint256 price, uint256 times) external {
        for (uint256 i = 0; i < times; i++) {
            prices.push(price);
        }
    }

    function buy(uint256 item) external payable {
        uint256 price = Prices.withTax(prices[item], tax);
        if (msg.value < price) {
            revert TooLittle(msg.value, price);
        }
        bought[msg.sender] += 1;
        _thank();
    }

    function _thank() private {
        bought[address(0)] += 1;
    }

    receive() external payable {}
}

contract Proxy {
    address public immutable target;

    constructor(address to) {
        target = to;
    }

    fallback() external payable {
        address to = target;
        assembly {
            calldatacopy(0, 0, calldatasize())
            let ok := delegatecall(gas(), to, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if iszero(ok) {
                revert(0, returndatasize())
            }
            return(0, returndatasize())
        }
    }
}

contract Small {
    uint256 public number;

    function set(uint256 to) external {
        number = to;
    }
}

contract Factory {
    function build(bytes32 salt) external returns (Small made) {
        made = new Small{salt: salt}();
        made.set(1);
    }
}
