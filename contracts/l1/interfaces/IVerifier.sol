// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// @notice Verifies validity proofs of batches.
interface IVerifier {
    /// @notice Whether `proof` proves every one of `publicInputs`.
    /// @param publicInputs For each batch the hash of the state before, the state after and the commitment.
    function verify(
        uint256[] calldata publicInputs,
        uint256[] calldata proof
    ) external view returns (bool);
}
