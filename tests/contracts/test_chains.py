"""Registration, getters and access control of chains."""

from __future__ import annotations

from typing import Any

import pytest

from entresol._native import keccak256
from entresol.primitives.values import Address
from tests.support.contracts.batches import Batch, stored
from tests.support.contracts.engine import L1_CHAIN_ID, Contract, Reverted
from tests.support.contracts.l1_contracts import (
    ALICE,
    CHAIN_ID,
    DEPLOYER,
    ETH_TOKEN,
    FEE_PARAMS,
    L2_ASSET_ROUTER,
    OTHER_CHAIN_ID,
    PROTOCOL_VERSION,
    Deployed,
    asset_id,
)
from tests.support.contracts.merkle_trees import EMPTY

ZERO = Address.zero()


def test_everything_is_found_from_the_bridgehub(l1: Deployed) -> None:
    def ask(contract: Contract, function: str, *arguments: object) -> Address:
        return Address.parse(l1.engine.read(contract, function, *arguments))

    assert (
        ask(l1.bridgehub, "assetRouter") == ask(l1.bridgehub, "sharedBridge") == l1.router.address
    )
    assert ask(l1.bridgehub, "nativeTokenVault") == l1.vault.address
    assert ask(l1.bridgehub, "getZKChain", CHAIN_ID) == l1.chain.address
    assert ask(l1.bridgehub, "getHyperchain", CHAIN_ID) == l1.chain.address
    assert ask(l1.bridgehub, "chainTypeManager", CHAIN_ID) == l1.manager.address
    assert ask(l1.bridgehub, "baseToken", CHAIN_ID) == ETH_TOKEN
    assert ask(l1.router, "L1_NULLIFIER") == l1.nullifier.address
    assert ask(l1.router, "nativeTokenVault") == l1.vault.address
    assert ask(l1.router, "legacyBridge") == l1.legacy_bridge.address
    assert ask(l1.router, "BRIDGE_HUB") == l1.bridgehub.address
    assert ask(l1.nullifier, "l1NativeTokenVault") == l1.vault.address
    assert ask(l1.nullifier, "l1AssetRouter") == l1.router.address
    assert ask(l1.manager, "validatorTimelock") == l1.timelock.address
    assert ask(l1.manager, "validatorTimelockPostV29") == l1.timelock.address
    assert ask(l1.manager, "getZKChain", CHAIN_ID) == l1.chain.address
    assert ask(l1.chain, "getVerifier") == l1.verifier.address


def test_getters_of_an_unknown_chain_return_zero(l1: Deployed) -> None:
    for contract, function in (
        (l1.bridgehub, "getZKChain"),
        (l1.bridgehub, "getHyperchain"),
        (l1.bridgehub, "chainTypeManager"),
        (l1.bridgehub, "baseToken"),
        (l1.manager, "getZKChain"),
        (l1.router, "l2BridgeAddress"),
        (l1.nullifier, "l2BridgeAddress"),
    ):
        assert Address.parse(l1.engine.read(contract, function, 999)) == ZERO


def test_the_bridge_of_a_known_chain_has_its_usual_address(l1: Deployed) -> None:
    for contract in (l1.router, l1.nullifier):
        bridge = l1.engine.read(contract, "l2BridgeAddress", CHAIN_ID)
        assert Address.parse(bridge) == L2_ASSET_ROUTER


def test_chains_are_listed(l1: Deployed) -> None:
    l1.add_chain()
    assert l1.engine.read(l1.bridgehub, "getAllZKChainChainIDs") == (CHAIN_ID, OTHER_CHAIN_ID)
    assert l1.engine.read(l1.bridgehub, "L1_CHAIN_ID") == L1_CHAIN_ID
    assert l1.engine.read(l1.bridgehub, "baseTokenAssetId", CHAIN_ID) == asset_id(ETH_TOKEN)


@pytest.mark.parametrize(
    ("getter", "expected"),
    [
        ("getChainId", CHAIN_ID),
        ("getBaseTokenAssetId", asset_id(ETH_TOKEN)),
        ("getBaseToken", str(ETH_TOKEN)),
        ("getAdmin", str(DEPLOYER)),
        ("getPendingAdmin", str(ZERO)),
        ("getProtocolVersion", PROTOCOL_VERSION),
        ("getSemverProtocolVersion", (0, 30, 2)),
        ("getSettlementLayer", str(ZERO)),
        ("getTotalBatchesCommitted", 0),
        ("getTotalBatchesVerified", 0),
        ("getTotalBatchesExecuted", 0),
        ("getTotalPriorityTxs", 0),
        ("getFirstUnprocessedPriorityTx", 0),
        ("getPriorityQueueSize", 0),
        ("getPriorityTreeStartIndex", 0),
        ("getPriorityTreeRoot", EMPTY),
        ("isPriorityQueueActive", False),
        ("getPriorityTxMaxGasLimit", 72_000_000),
        ("getFeeParams", FEE_PARAMS),
        ("getPubdataPricingMode", 0),
        ("baseTokenGasPriceMultiplierNominator", 1),
        ("baseTokenGasPriceMultiplierDenominator", 1),
        ("getName", "GettersFacet"),
        ("isDiamondStorageFrozen", False),
        ("getVerifierParams", (bytes(32), bytes(32), bytes(32))),
        ("getL2BootloaderBytecodeHash", bytes(32)),
        ("getL2DefaultAccountBytecodeHash", bytes(32)),
        ("getL2EvmEmulatorBytecodeHash", bytes(32)),
        ("getL2SystemContractsUpgradeTxHash", bytes(32)),
    ],
)
def test_a_chain_has_its_getters(l1: Deployed, getter: str, expected: Any) -> None:
    assert l1.engine.read(l1.chain, getter) == expected


def test_a_chain_starts_at_the_batch_of_its_registration(l1: Deployed) -> None:
    genesis = keccak256(stored(l1.genesis.stored()))
    assert l1.engine.read(l1.chain, "storedBatchHash", 0) == genesis
    assert l1.engine.read(l1.chain, "storedBatchHash", 1) == bytes(32)


def test_managers_and_chains_have_the_same_version(l1: Deployed) -> None:
    assert l1.engine.read(l1.manager, "getSemverProtocolVersion") == (0, 30, 2)
    assert l1.engine.read(l1.manager, "protocolVersion") == PROTOCOL_VERSION


# --- Registration ---


def register(l1: Deployed, chain: Contract, *, chain_id: int = OTHER_CHAIN_ID,
             asset: bytes = asset_id(ETH_TOKEN), genesis: bytes = b"\1" * 32,
             sender: Address = DEPLOYER) -> None:  # fmt: skip
    l1.engine.send(
        sender, l1.bridgehub, "registerChain",
        chain_id, l1.manager.address, chain.address, asset, genesis,
    )  # fmt: skip


@pytest.fixture
def new_chain(l1: Deployed) -> Contract:
    return l1.new_chain()


def test_a_chain_is_registered(l1: Deployed, new_chain: Contract) -> None:
    register(l1, new_chain)
    (event,) = l1.engine.events(l1.bridgehub)
    assert event.name == "NewChain"
    assert event.fields == {
        "chainId": OTHER_CHAIN_ID,
        "chainTypeManager": str(l1.manager.address),
        "chainGovernance": str(DEPLOYER),
    }


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"sender": ALICE}, "Unauthorized"),
        ({"chain_id": 0}, "InvalidChainId"),
        ({"chain_id": L1_CHAIN_ID}, "InvalidChainId"),
        ({"chain_id": CHAIN_ID}, "ChainIdAlreadyExists"),
        ({"chain_id": 272}, "ChainIdMismatch"),
        ({"asset": b"\1" * 32}, "AssetIdNotSupported"),
        ({"genesis": bytes(32)}, "EmptyGenesisBatchHash"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_a_wrong_registration_is_rejected(
    l1: Deployed, new_chain: Contract, changes: dict[str, Any], error: str
) -> None:
    with pytest.raises(Reverted, match=error):
        register(l1, new_chain, **changes)


def test_a_chain_is_initialised_by_the_bridgehub_alone(l1: Deployed, new_chain: Contract) -> None:
    with pytest.raises(Reverted, match="Unauthorized"):
        l1.engine.send(DEPLOYER, new_chain, "initialize", bytes(32), b"\1" * 32)
    with pytest.raises(Reverted, match="AlreadyInitialized"):
        l1.engine.send(l1.bridgehub.address, l1.chain, "initialize", bytes(32), b"\1" * 32)


def test_a_chain_commits_no_batch_before_its_registration(
    l1: Deployed, new_chain: Contract
) -> None:
    l1.engine.send(DEPLOYER, l1.timelock, "addValidator", new_chain.address, ALICE)
    data = Batch(number=1, chain_id=OTHER_CHAIN_ID).commit_data(l1.genesis)
    with pytest.raises(Reverted, match="BatchHashMismatch"):
        l1.engine.send(
            ALICE, l1.timelock, "commitBatchesSharedBridge", new_chain.address, 1, 1, data
        )


# --- Who decides ---


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("setPendingAdmin", (ALICE,)),
        ("setValidator", (ALICE, True)),
        ("changeFeeParams", (FEE_PARAMS,)),
        ("setTokenMultiplier", (1, 1)),
        ("setPriorityTxMaxGasLimit", (1,)),
        ("acceptAdmin", ()),
    ],
)
def test_only_the_admin_changes_a_chain(
    l1: Deployed, function: str, arguments: tuple[object, ...]
) -> None:
    with pytest.raises(Reverted, match="Unauthorized"):
        l1.engine.send(ALICE, l1.chain, function, *arguments)


@pytest.mark.parametrize(
    ("function", "arguments", "error"),
    [
        ("setTokenMultiplier", (1, 0), "DenominatorIsZero"),
        ("setTokenMultiplier", (0, 1), "NominatorIsZero"),
        ("changeFeeParams", ((0, 1, 0, 1, 0, 1),), "InvalidFeeParams"),
        ("changeFeeParams", ((0, 1, 1, 0, 0, 1),), "InvalidFeeParams"),
        ("changeFeeParams", ((0, 1, 1, 1, 2, 1),), "InvalidFeeParams"),
    ],
)
def test_settings_that_would_stop_requests_are_rejected(
    l1: Deployed, function: str, arguments: tuple[object, ...], error: str
) -> None:
    with pytest.raises(Reverted, match=error):
        l1.engine.send(DEPLOYER, l1.chain, function, *arguments)


def test_an_admin_is_replaced_in_two_steps(l1: Deployed) -> None:
    l1.engine.send(DEPLOYER, l1.chain, "setPendingAdmin", ALICE)
    assert l1.engine.read(l1.chain, "getAdmin") == str(DEPLOYER)
    l1.engine.send(ALICE, l1.chain, "acceptAdmin")
    assert l1.engine.read(l1.chain, "getAdmin") == str(ALICE)
    with pytest.raises(Reverted, match="Unauthorized"):
        l1.engine.send(DEPLOYER, l1.chain, "setPendingAdmin", DEPLOYER)


def test_an_owner_is_replaced_in_two_steps(l1: Deployed) -> None:
    for contract in (l1.bridgehub, l1.timelock):
        with pytest.raises(Reverted, match="Unauthorized"):
            l1.engine.send(ALICE, contract, "transferOwnership", ALICE)
        l1.engine.send(DEPLOYER, contract, "transferOwnership", ALICE)
        assert l1.engine.read(contract, "owner") == str(DEPLOYER)
        l1.engine.send(ALICE, contract, "acceptOwnership")
        assert l1.engine.read(contract, "owner") == str(ALICE)
        with pytest.raises(Reverted, match="Unauthorized"):
            l1.engine.send(DEPLOYER, contract, "acceptOwnership")


def test_only_the_owner_sets_the_delay(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="Unauthorized"):
        l1.engine.send(ALICE, l1.timelock, "setExecutionDelay", 1)
