"""Storage layouts are append-only: a node sets variables of contracts that an earlier version deployed, too."""

from __future__ import annotations

import pytest

from entresol.node.settlement.settlement_layer import development_contracts

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


@pytest.mark.parametrize("name", ADDRESSES)
def test_contracts_of_the_development_l1_stay_at_their_addresses(name: str) -> None:
    assert str(getattr(development_contracts(), name)) == ADDRESSES[name]
