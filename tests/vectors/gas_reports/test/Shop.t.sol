// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

import {Factory, Proxy, Shop} from "../src/Shop.sol";

contract ShopTest {
    address private constant BUYER = address(uint160(0xb0b));

    /// Each call is a transaction of its own, as on a chain, if forge isolates them.
    function testShop() external {
        Shop shop = new Shop(20);
        Proxy proxy = new Proxy(address(shop));
        Factory factory = new Factory();
        shop.add(100);
        shop.add(200);
        shop.add(300, 5);
        shop.buy{value: 120}(0);
        shop.buy{value: 240}(1);
        shop.buy{value: 240}(1);
        Shop(payable(address(proxy))).add(7);
        Shop(payable(address(proxy))).add(7, 2);
        factory.build(bytes32(uint256(1)));
        factory.build(bytes32(uint256(2)));
    }
}
