// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_ASSET_ROUTER} from "../shared/Addresses.sol";
import {DataEncoding} from "../shared/DataEncoding.sol";
import {StandardERC20} from "../shared/StandardERC20.sol";

/// @notice A token that withdraws again during a withdrawal, to be counted twice.
contract RecursiveToken is StandardERC20 {
    /// @notice The name of the token.
    string public name = "Recursive";
    /// @notice The symbol of the token.
    string public symbol = "RE";
    /// @notice The number of decimals of an amount.
    uint8 public decimals = 18;

    bool private _inside;

    constructor() {
        _mint(msg.sender, 1 ether);
        _mint(address(this), 1 ether);
    }

    function _transfer(address from, address to, uint256 value) internal override {
        if (!_inside) {
            _inside = true;
            bytes32 asset = DataEncoding.assetId(block.chainid, address(this));
            bytes memory data = DataEncoding.encodeBurn(value, address(this), address(this));
            (bool success, bytes memory returnData) = L2_ASSET_ROUTER.call(
                abi.encodeWithSignature("withdraw(bytes32,bytes)", asset, data)
            );
            if (!success) {
                assembly ("memory-safe") {
                    revert(add(returnData, 0x20), mload(returnData))
                }
            }
            return;
        }
        super._transfer(from, to, value);
    }
}
