"""Contracts of both layers, and published code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol._native import keccak256
from entresol.chain.chain import Chain
from entresol.rpc.namespaces.zks.contracts import ZksBytecode, ZksContracts
from tests.support.chain.dev_chain import NOBODY
from tests.support.chain.steering import revert
from tests.support.rollup.settlement_scenario import ON_L1, ON_L2
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


@pytest.fixture
def zks(chain: Chain) -> Iterator[NamespaceClient]:
    client = NamespaceClient(ZksBytecode(chain.blocks, lambda: chain.ledger.head_hash))
    yield client
    client.close()


def test_code_of_a_reverted_block_is_null_again(chain: Chain, zks: NamespaceClient) -> None:
    checkpoint = chain.history.mark()
    code = b"\x5b" * 100
    name = "0x" + keccak256(code).hex()
    chain.edit(NOBODY, lambda overlay: overlay.set_code(NOBODY, code))
    chain.builder.seal()
    assert [zks("zks_getBytecodeByHash", name) for _ in range(2)] == [list(code)] * 2
    revert(chain, checkpoint)
    assert zks("zks_getBytecodeByHash", name) is None


@pytest.mark.parametrize("name", ["0x12", 5, None, "0x" + "zz" * 32])
def test_what_is_no_hash_is_rejected_by_name(zks: NamespaceClient, name: object) -> None:
    caught = zks.error("zks_getBytecodeByHash", name)
    assert caught.code == -32602
    assert caught.message.startswith("params[0]")
