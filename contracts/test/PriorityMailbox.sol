// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {PriorityTree} from "../l1/libraries/PriorityTree.sol";

/// @notice Emits its input as the data of a deposit's event, and appends the hash in it to the tree.
contract PriorityMailbox {
    using PriorityTree for PriorityTree.Tree;

    bytes32 private constant NEW_PRIORITY_REQUEST = keccak256(
        "NewPriorityRequest(uint256,bytes32,uint64,(uint256,uint256,uint256,uint256,uint256,uint256,uint256,"
        "uint256,uint256,uint256,uint256[4],bytes,bytes,uint256[],bytes,bytes),bytes[])"
    );

    PriorityTree.Tree private _tree;

    /// @notice Emit the event.
    fallback(bytes calldata data) external returns (bytes memory) {
        return _emitted(data);
    }

    /// @notice How many events it has emitted.
    function getTotalPriorityTxs() external view returns (uint256) {
        return _tree.size;
    }

    /// @notice Whether the tree has, or had, a root.
    function isPriorityTreeRoot(bytes32 root, uint256 height) external view returns (bool) {
        return _tree.heightPlusOne[root] == height + 1;
    }

    function _emitted(bytes calldata data) private returns (bytes memory) {
        // Its code is set, so that no constructor has run.
        if (_tree.zeros.length == 0) _tree.setUp();
        _tree.push(data.length < 64 ? bytes32(0) : bytes32(data[32:64]));
        bytes memory copy = data;
        bytes32 topic = NEW_PRIORITY_REQUEST;
        assembly ("memory-safe") {
            log1(add(copy, 32), mload(copy), topic)
        }
        return "";
    }
}
