// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {L2_ASSET_ROUTER} from "../../shared/Addresses.sol";
import {FinalizeL1DepositParams} from "../../shared/Messaging.sol";
import {IL1Nullifier} from "../interfaces/IL1Nullifier.sol";

/// @notice The legacy token bridge, for clients that finalize withdrawals through it. It serves one chain,
/// which its functions do not take as an argument.
contract L1ERC20Bridge {
    /// @notice The nullifier, which records what was paid.
    address public immutable L1_NULLIFIER;
    /// @notice The asset router, which replaces this bridge.
    address public immutable L1_ASSET_ROUTER;
    /// @notice The id of the chain that this bridge serves.
    uint256 public immutable CHAIN_ID;

    constructor(address nullifier, address assetRouter, uint256 chainId) {
        L1_NULLIFIER = nullifier;
        L1_ASSET_ROUTER = assetRouter;
        CHAIN_ID = chainId;
    }

    /// @notice The bridge on L2.
    function l2Bridge() external pure returns (address) {
        return L2_ASSET_ROUTER;
    }

    /// @notice Whether a withdrawal was finalized.
    function isWithdrawalFinalized(
        uint256 l2BatchNumber,
        uint256 l2MessageIndex
    ) external view returns (bool) {
        return
            IL1Nullifier(L1_NULLIFIER).isWithdrawalFinalized(
                CHAIN_ID,
                l2BatchNumber,
                l2MessageIndex
            );
    }

    /// @notice Finalize a withdrawal of a token.
    function finalizeWithdrawal(
        uint256 l2BatchNumber,
        uint256 l2MessageIndex,
        uint16 l2TxNumberInBatch,
        bytes calldata message,
        bytes32[] calldata merkleProof
    ) external {
        FinalizeL1DepositParams memory params;
        params.chainId = CHAIN_ID;
        params.l2BatchNumber = l2BatchNumber;
        params.l2MessageIndex = l2MessageIndex;
        params.l2Sender = L2_ASSET_ROUTER;
        params.l2TxNumberInBatch = l2TxNumberInBatch;
        params.message = message;
        params.merkleProof = merkleProof;
        IL1Nullifier(L1_NULLIFIER).finalizeDeposit(params);
    }
}
