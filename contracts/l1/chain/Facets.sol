// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {IExecutor} from "../interfaces/IExecutor.sol";
import {IMailbox} from "../interfaces/IMailbox.sol";

/// @notice Runs the functions of a chain's facets, and says which they are as a diamond does (EIP-2535).
/// @dev The facets are chosen at the deployment and cannot be replaced or frozen. Functions that the contract has itself
/// are those of a facet at its own address, as the standard has it. To add one to a facet, add it to `_facetOf` and to
/// the facet's selectors.
abstract contract Facets {
    /// @notice A facet and the selectors that it serves.
    struct Facet {
        address addr;
        bytes4[] selectors;
    }

    /// @dev The selectors of this contract's own functions, in ascending order.
    bytes internal constant OWN_SELECTORS =
        hex"06d49e5b0e18b6810ec6b0b717d7de7c18e3a9411cc14cbc1de72e34235d9eb5"
        hex"29b98c6733ce93fe3408e4703591c1a039d7d4aa4623c91d46657fe94dd18bf5"
        hex"52ef6b2c5a590335631f4bac64bf8d666a27e8b56e9960c379823c9a7a0ed627"
        hex"7b30c8da8708474e946ebad1960dcf2498acd7a69cd939e4a1954fc5adfca15e"
        hex"ae454dc8b22dd78eb8c2f66fbe6f11cfbe6fc181c01b6e86cdffacc6d0468156"
        hex"d86970d8db1f0bf9dd655bb0dedc270cea6c029cef3f0baef4ff5e2ef5c1182c"
        hex"facd743bfd791f3cffbe924b";
    /// @dev Those of `MailboxFacet`.
    bytes internal constant MAILBOX_SELECTORS =
        hex"042901c712f43dab263b7f8e6c0960f97efda2aeb473318ebd7c5412d07b90d1"
        hex"e4948f43eb672419";
    /// @dev Those of `ExecutorFacet`.
    bytes internal constant EXECUTOR_SELECTORS = hex"0db9eb877ca4eff79271e450a085344de23e59b5";

    address private immutable _MAILBOX;
    address private immutable _EXECUTOR;

    error UnknownSelector(bytes4 selector);
    error FacetWithoutCode(address facet);

    constructor(address mailboxFacet, address executorFacet) {
        _MAILBOX = mailboxFacet;
        _EXECUTOR = executorFacet;
    }

    /// @notice Ether comes with a request alone.
    receive() external payable {
        revert UnknownSelector(bytes4(0));
    }

    /// @notice Run a function of a facet on the storage of this contract.
    fallback() external payable {
        _delegate(_facetOf(msg.sig));
    }

    /// @notice The name of the facet that has these functions in the ZK Stack.
    function getName() external pure returns (string memory) {
        return "GettersFacet";
    }

    /// @notice All facets, with their selectors.
    function facets() external view returns (Facet[] memory all) {
        address[] memory addresses = facetAddresses();
        all = new Facet[](addresses.length);
        for (uint256 i = 0; i < addresses.length; ++i) {
            all[i] = Facet(addresses[i], facetFunctionSelectors(addresses[i]));
        }
    }

    /// @notice The facet of a selector, or zero.
    function facetAddress(bytes4 selector) external view returns (address) {
        bytes4[] memory own = facetFunctionSelectors(address(this));
        for (uint256 i = 0; i < own.length; ++i) {
            if (own[i] == selector) return address(this);
        }
        return _facetOf(selector);
    }

    /// @notice The addresses of all facets: this contract, the mailbox, the executor.
    function facetAddresses() public view returns (address[] memory all) {
        all = new address[](3);
        all[0] = address(this);
        all[1] = _MAILBOX;
        all[2] = _EXECUTOR;
    }

    /// @notice The selectors of a facet; none if it is no facet.
    function facetFunctionSelectors(address facet) public view returns (bytes4[] memory selectors) {
        if (facet == address(this)) return _unpack(OWN_SELECTORS);
        if (facet == _MAILBOX) return _unpack(MAILBOX_SELECTORS);
        if (facet == _EXECUTOR) return _unpack(EXECUTOR_SELECTORS);
    }

    function _requireFacets() internal view {
        if (_MAILBOX.code.length == 0) revert FacetWithoutCode(_MAILBOX);
        if (_EXECUTOR.code.length == 0) revert FacetWithoutCode(_EXECUTOR);
    }

    /// @dev What is called most comes first.
    function _facetOf(bytes4 selector) private view returns (address) {
        if (
            selector == IMailbox.bridgehubRequestL2Transaction.selector ||
            selector == IMailbox.proveL2MessageInclusion.selector
        ) return _MAILBOX;
        if (
            selector == IExecutor.commitBatchesSharedBridge.selector ||
            selector == IExecutor.proveBatchesSharedBridge.selector ||
            selector == IExecutor.executeBatchesSharedBridge.selector ||
            selector == IExecutor.revertBatchesSharedBridge.selector ||
            selector == IExecutor.getLastBlockTimestamp.selector
        ) return _EXECUTOR;
        bool isInMailbox =
            selector == IMailbox.l2TransactionBaseCost.selector ||
                selector == IMailbox.requestL2Transaction.selector ||
                selector == IMailbox.requestL2ServiceTransaction.selector ||
                selector == IMailbox.proveL1ToL2TransactionStatus.selector ||
                selector == IMailbox.proveL2LogInclusion.selector ||
                selector == IMailbox.proveL2LeafInclusion.selector ||
                selector == IMailbox.finalizeEthWithdrawal.selector ||
                selector == IMailbox.isEthWithdrawalFinalized.selector;
        return isInMailbox ? _MAILBOX : address(0);
    }

    function _delegate(address facet) private {
        if (facet == address(0)) revert UnknownSelector(msg.sig);
        // A call of an address without code succeeds, and would keep the ether. Before its registration a chain may be
        // without its facets.
        if (msg.value != 0 && facet.code.length == 0) revert FacetWithoutCode(facet);
        assembly {
            // Nothing returns to Solidity, so all of the memory is free.
            calldatacopy(0, 0, calldatasize())
            let isSuccess := delegatecall(gas(), facet, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            switch isSuccess
            case 0 {
                revert(0, returndatasize())
            }
            default {
                return(0, returndatasize())
            }
        }
    }

    function _unpack(bytes memory packed) private pure returns (bytes4[] memory selectors) {
        uint256 count = packed.length / 4;
        selectors = new bytes4[](count);
        for (uint256 i = 0; i < count; ++i) {
            bytes32 word;
            assembly ("memory-safe") {
                word := mload(add(add(packed, 32), mul(4, i)))
            }
            selectors[i] = bytes4(word);
        }
    }
}
