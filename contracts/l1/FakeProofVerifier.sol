// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {IVerifier} from "./interfaces/IVerifier.sol";

/// @notice What verifiers of fake proofs have in common: which proofs they accept. Where one may be is theirs.
/// @dev A fake proof has a magic number and the public inputs of its batches, so that it cannot be mistaken
/// for a real one, and wrong batches are still rejected.
abstract contract FakeProofVerifier is IVerifier {
    uint256 internal constant FAKE_PROOF_TYPE = 3;
    uint256 internal constant FAKE_PROOF_MAGIC = 13;

    error NoPublicInput();
    error NotAFakeProof();
    error PublicInputMismatch(uint256 expected, uint256 provided);

    /// @dev Accept [3, 0, 13, hash over `publicInputs`], and revert with a reason on any other proof.
    function _verifyFakeProof(
        uint256[] calldata publicInputs,
        uint256[] calldata proof
    ) internal pure returns (bool) {
        if (publicInputs.length == 0) revert NoPublicInput();
        if (
            proof.length != 4 ||
            proof[0] != FAKE_PROOF_TYPE ||
            proof[1] != 0 ||
            proof[2] != FAKE_PROOF_MAGIC
        ) revert NotAFakeProof();

        uint256 folded = publicInputs[0];
        for (uint256 i = 1; i < publicInputs.length; ++i) {
            folded = uint256(keccak256(abi.encodePacked(folded, publicInputs[i]))) >> 32;
        }
        if (proof[3] != folded) revert PublicInputMismatch(folded, proof[3]);
        return true;
    }
}
