// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {FakeProofVerifier} from "./FakeProofVerifier.sol";
import {PublicNetworks} from "./libraries/PublicNetworks.sol";

/// @notice Accepts fake proofs. For development only: a validator can withdraw everything that was
/// deposited. It can neither be deployed nor used on a public network.
contract DevelopmentVerifier is FakeProofVerifier {
    /// @dev A proof that proves nothing would let a validator take what people deposit on this network.
    error FakeProofsOnPublicNetwork(uint256 chainId);

    modifier onlyPrivateNetwork() {
        if (PublicNetworks.contains(block.chainid)) revert FakeProofsOnPublicNetwork(block.chainid);
        _;
    }

    constructor() onlyPrivateNetwork {}

    /// @notice Accept [3, 0, 13, hash over `publicInputs`], and revert with a reason on any other proof.
    function verify(
        uint256[] calldata publicInputs,
        uint256[] calldata proof
    ) external view onlyPrivateNetwork returns (bool) {
        return _verifyFakeProof(publicInputs, proof);
    }
}
