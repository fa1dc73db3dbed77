"""Addresses of the contracts on both layers over JSON-RPC."""

from __future__ import annotations

from entresol.rpc.namespaces.zks.contracts import ZksContracts
from tests.support.rollup.settlement_contracts import ON_L1, ON_L2
from tests.support.rpc_client import NamespaceClient


def test_the_contracts_of_both_layers_are_reported() -> None:
    zks = NamespaceClient(ZksContracts(31337, ON_L1, ON_L2))
    assert zks("zks_getBridgehubContract") == str(ON_L1.bridgehub)
    assert zks("zks_getMainContract") == str(ON_L1.chain)
    assert zks("zks_getBytecodeSupplierContract") == str(ON_L1.bytecodes_supplier)
    assert zks("zks_L1ChainId") == hex(31337)
    assert zks("zks_getBaseTokenL1Address") == "0x0000000000000000000000000000000000000001"
    bridges = zks("zks_getBridgeContracts")
    assert all(isinstance(address, str) for address in bridges.values())
    assert set(bridges) == {
        "l1Erc20DefaultBridge",
        "l2Erc20DefaultBridge",
        "l1SharedDefaultBridge",
        "l2SharedDefaultBridge",
        "l1WethBridge",
        "l2WethBridge",
        "l2LegacySharedBridge",
        "l1Nullifier",
        "l1NativeTokenVault",
    }
    assert bridges["l1Erc20DefaultBridge"] == str(ON_L1.legacy_bridge)
    assert bridges["l1SharedDefaultBridge"] == str(ON_L1.asset_router)
    zks.close()
