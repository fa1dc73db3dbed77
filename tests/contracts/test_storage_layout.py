"""Storage layouts are append-only: a node sets variables of contracts that an earlier version deployed, too."""

from __future__ import annotations

import pytest

from entresol.contracts import artifact
from entresol.node.settlement.settlement_layer import development_contracts

SLOTS = {
    "ZKChain": [
        ("_admin", 0, 0),
        ("_pendingAdmin", 1, 0),
        ("_verifier", 2, 0),
        ("_baseTokenAssetId", 3, 0),
        ("_isValidator", 4, 0),
        ("_feeParams", 5, 0),
        ("_priorityTxMaxGasLimit", 6, 0),
        ("_multiplierNominator", 7, 0),
        ("_multiplierDenominator", 7, 16),
        ("_daCommitmentScheme", 8, 0),
        # In bytes that were free; contracts without facets have zeros there, and so has any from before a variable.
        ("_maxBatchAge", 8, 1),
        ("_maxClockLead", 8, 9),
        ("_chainId", 8, 17),
        ("_isProduction", 8, 25),
        ("_committed", 9, 0),
        ("_verified", 10, 0),
        ("_executed", 11, 0),
        ("_storedBatchHashes", 12, 0),
        ("_l2LogsRootHashes", 13, 0),
        ("_priorityTree", 14, 0),
        ("_lastBlockTimes", 20, 0),
    ],
    "L1NativeTokenVault": [
        ("assetId", 0, 0),
        ("tokenAddress", 1, 0),
        ("originChainId", 2, 0),
        ("chainBalance", 3, 0),
        ("BRIDGED_TOKEN_SALT", 4, 0),
    ],
    "Bootloader": [("supportedAccountVersion", 0, 0), ("chargesFactoryDeps", 1, 0)],
    "NonceHolder": [("_rawNonces", 0, 0), ("_keyedNonces", 1, 0)],
    "ContractDeployer": [("_accounts", 0, 0), ("_countSalt", 1, 0)],
    "L2AssetRouter": [("L1_CHAIN_ID", 0, 0), ("L1_ASSET_ROUTER", 1, 0)],
    # Contracts of earlier versions have the first one alone.
    "L2BaseToken": [
        ("totalWithdrawn", 0, 0),
        ("name", 1, 0),
        ("symbol", 2, 0),
        ("decimals", 3, 0),
    ],
    "TestERC20": [("totalSupply", 0, 0), ("balanceOf", 1, 0)],
    "L2NativeTokenVault": [
        ("L1_CHAIN_ID", 0, 0),
        ("BASE_TOKEN_ASSET_ID", 1, 0),
        ("L1_TAKES_L2_TOKENS", 2, 0),
        ("assetId", 3, 0),
        ("originChainId", 4, 0),
        ("tokenAddress", 5, 0),
        ("originToken", 6, 0),
        ("bridgedTokens", 7, 0),
        ("BRIDGED_TOKEN_SALT", 8, 0),
    ],
}
"""Label, slot and offset of every variable of the contracts whose slots the node sets or reads by name."""

ADDRESSES = {
    "bridgehub": "0x800c91b13473c201ce8d6af477b5deb9ad183356",
    "chain": "0xa4ce0eecb9d66a74d027e2b07685c5e00592b143",
    "asset_router": "0xc50c5a98f557b568d8670e6af47770f5ce274a74",
    "nullifier": "0xf1843cc2096d940ffab031b4253dccd986fc0c37",
    "native_token_vault": "0xafef7db9255a12e29c4c595a0a36ba15ce304e86",
    "validator_timelock": "0x7f09a13e549b1684895facf7836515f8c3ffba9d",
    "chain_type_manager": "0x237238d87fe6f40f675cdca1723a93a629a1c2f1",
    "verifier": "0x18a11fa912bb52a7a771855968478580dc986c28",
    "legacy_bridge": "0x66968e72fb399240527192f464406cfc2eaf03cc",
    "bytecodes_supplier": "0xa5ddb1217d93ef65d7fc3d11079588e7d6f2db09",
    "message_root": "0xb9e81365243c1a42fab4ef0ad70f55e8a55c659b",
    "chain_registration_sender": "0x2418aee0c3dd5bb9cafd2e299b4271c1289f6ba4",
}


@pytest.mark.parametrize("name", SLOTS)
def test_variables_stay_where_they_are(name: str) -> None:
    layout = [
        (member.label, member.slot, member.offset) for member in artifact(name).storage_layout
    ]
    assert layout[: len(SLOTS[name])] == SLOTS[name]


@pytest.mark.parametrize("name", ADDRESSES)
def test_contracts_of_the_development_l1_stay_at_their_addresses(name: str) -> None:
    assert str(getattr(development_contracts(), name)) == ADDRESSES[name]
