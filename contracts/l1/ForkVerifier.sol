// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {FakeProofVerifier} from "./FakeProofVerifier.sol";

/// @notice Accepts fake proofs on a fork: a private copy of a chain, which has the chain id of the real one. A node
/// writes its code into the copy. No transaction can deploy it, on any chain.
contract ForkVerifier is FakeProofVerifier {
    /// @dev On a chain that others use, it would let a validator take what people deposit.
    error OnlyOnAFork();

    constructor() {
        revert OnlyOnAFork();
    }

    /// @notice Accept [3, 0, 13, hash over `publicInputs`], and revert with a reason on any other proof.
    function verify(
        uint256[] calldata publicInputs,
        uint256[] calldata proof
    ) external pure returns (bool) {
        return _verifyFakeProof(publicInputs, proof);
    }
}
