// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Hashes of verification keys.
struct VerifierParams {
    bytes32 recursionNodeLevelVkHash;
    bytes32 recursionLeafLevelVkHash;
    bytes32 recursionCircuitsSetVksHash;
}

/// @notice View functions by which clients look at a chain's contract as at a diamond (EIP-2535).
/// @dev This contract is no proxy: it has one facet, which is itself, and cannot be upgraded or frozen. The L2 is
/// an EVM without a bootloader, a default account and an emulator, so their hashes are zero, as in the node's API.
abstract contract DiamondGetters {
    /// @notice A facet and the selectors that it serves.
    struct Facet {
        address addr;
        bytes4[] selectors;
    }

    /// @dev The selectors of all external functions, in ascending order.
    bytes internal constant SELECTORS =
        hex"042901c706d49e5b0db9eb870e18b6810ec6b0b712f43dab17d7de7c18e3a941"
        hex"1de72e34235d9eb5263b7f8e29b98c6733ce93fe3408e4703591c1a039d7d4aa"
        hex"4623c91d46657fe94dd18bf552ef6b2c5a590335631f4bac64bf8d666a27e8b5"
        hex"6c0960f96e9960c379823c9a7a0ed6277b30c8da7ca4eff77efda2ae8708474e"
        hex"9271e450946ebad1960dcf2498acd7a69cd939e4a085344da1954fc5adfca15e"
        hex"b22dd78eb473318eb8c2f66fbd7c5412be6f11cfbe6fc181cdffacc6d0468156"
        hex"d86970d8db1f0bf9dd655bb0dedc270ce4948f43ea6c029ceb672419ef3f0bae"
        hex"f4ff5e2ef5c1182cfacd743bfd791f3c";

    /// @notice The name of the facet that has these functions in the ZK Stack.
    function getName() external pure returns (string memory) {
        return "GettersFacet";
    }

    /// @notice All facets, with their selectors.
    function facets() external view returns (Facet[] memory all) {
        all = new Facet[](1);
        all[0] = Facet(address(this), _selectors());
    }

    /// @notice The addresses of all facets.
    function facetAddresses() external view returns (address[] memory all) {
        all = new address[](1);
        all[0] = address(this);
    }

    /// @notice The selectors of a facet; none if it is no facet.
    function facetFunctionSelectors(
        address facet
    ) external view returns (bytes4[] memory selectors) {
        if (facet == address(this)) selectors = _selectors();
    }

    /// @notice The facet of a selector, or zero.
    function facetAddress(bytes4 selector) external view returns (address) {
        bytes4[] memory selectors = _selectors();
        for (uint256 i = 0; i < selectors.length; ++i) {
            if (selectors[i] == selector) return address(this);
        }
        return address(0);
    }

    /// @notice False: the contract cannot be frozen.
    function isDiamondStorageFrozen() external pure returns (bool) {
        return false;
    }

    /// @notice Zeros: the verifier has no keys.
    function getVerifierParams() external pure returns (VerifierParams memory params) {}

    /// @notice Zero: there is no bootloader.
    function getL2BootloaderBytecodeHash() external pure returns (bytes32) {
        return bytes32(0);
    }

    /// @notice Zero: there is no default account.
    function getL2DefaultAccountBytecodeHash() external pure returns (bytes32) {
        return bytes32(0);
    }

    /// @notice Zero: the EVM is not emulated.
    function getL2EvmEmulatorBytecodeHash() external pure returns (bytes32) {
        return bytes32(0);
    }

    /// @notice Zero: no upgrade is pending.
    function getL2SystemContractsUpgradeTxHash() external pure returns (bytes32) {
        return bytes32(0);
    }

    function _selectors() private pure returns (bytes4[] memory selectors) {
        bytes memory packed = SELECTORS;
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
