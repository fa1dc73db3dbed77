"""Several L2s of a node on another L1, which is anvil: one deployment, an operator for each, and what interrupts them."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.contracts import artifact
from entresol.contracts.slots import Value, storage_of
from entresol.errors import LayerOneMismatch
from entresol.node.config.schema import SETTINGS, NodeConfig
from entresol.node.open_node import open_node
from entresol.node.settlement.manifest import MANIFEST_FILE
from entresol.node.settlement.settlement_layer import SettlementLayer
from tests.support.anvil import Anvil
from tests.support.inprocess_node import inprocess_node
from tests.support.node_process import DEVELOPMENT_FLAGS
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rollup.pair import ETHER, USER, Pair

pytestmark = pytest.mark.peer

OPERATOR, SECOND, THIRD = derive(DEVELOPMENT_MNEMONIC, 3)
KEY = str(OPERATOR.secret)
STEPS = 16
PAIRS = 2
"""Of the first chain; each other one has three more."""


def configured(anvil: Anvil, file: Path | None = None, **flags: Any) -> NodeConfig:
    given = {"l1_url": anvil.url, "port": 0, **flags}
    if file is None:
        given = {"operator_key": KEY, "chains": "2", **given}
    return SETTINGS.load(given, {}, file)


def opened(config: NodeConfig) -> list[SettlementLayer]:
    """Open a node, and return what each of its chains settles on."""

    async def whole() -> list[SettlementLayer]:
        node = await open_node(config)
        await node.stop()
        return [rollup.settlement_layer for rollup in node.rollups]

    return asyncio.run(asyncio.wait_for(whole(), PATIENCE_SECONDS))


def nonce(anvil: Anvil) -> int:
    return int(anvil("eth_getTransactionCount", str(OPERATOR.address), "latest"), 16)


def tables(path: Path, **second: str) -> Path:
    keys = "".join(f'{name} = "{it}"\n' for name, it in second.items())
    path.write_text(f"[[chains]]\nchain_id = 270\n[[chains]]\nchain_id = 271\n{keys}")
    return path


def test_two_chains_settle_on_one_deployment_before_and_after_a_restart(
    anvil: Anvil, tmp_path: Path
) -> None:
    info = tmp_path / "info.json"
    flags = (
        *("--chains", "2", "--l1-url", anvil.url, "--operator-key", KEY, *DEVELOPMENT_FLAGS),
        *("--data-dir", str(tmp_path / "chains"), "--config-out", str(info)),
        *("--l1-confirmations", "0", "--settle-interval", "0.05"),
    )
    sent = 0
    for start in (("--deploy-l1",), ()):
        with inprocess_node(*flags, *start, info=info), contextlib.ExitStack() as stack:
            pairs = [
                stack.enter_context(contextlib.closing(pair)) for pair in Pair.connect_all(info)
            ]
            assert pairs[0].call_l1(pairs[0].bridgehub, "getAllZKChainChainIDs") == (270, 271)
            sent = sent or nonce(anvil)
            for pair in pairs:
                balance = int(pair.l2("eth_getBalance", str(USER), "latest"), 16)
                assert pair.arrived(pair.deposit(ETHER, to=USER))["status"] == "0x1"
                assert int(pair.l2("eth_getBalance", str(USER), "latest"), 16) > balance
                assert pair.l1.receipt(pair.claim(pair.withdraw(ETHER // 2)))["status"] == "0x1"
        info.unlink()
    assert sent >= STEPS + 3 + 1


def test_each_chain_has_an_operator_that_is_derived_funded_and_remembered(
    anvil: Anvil, tmp_path: Path
) -> None:
    config = configured(anvil, data_dir=str(tmp_path / "chains"), deploy_l1=True)
    first, second = opened(config)
    accounts = [layer.operator_keys.deployer.address for layer in (first, second)]
    assert accounts[0] == OPERATOR.address
    assert accounts[1] not in {account.address for account in derive(DEVELOPMENT_MNEMONIC, 20)}
    assert int(anvil("eth_getBalance", str(accounts[1]), "latest"), 16) == 10 * ETHER
    assert first.contracts.bridgehub == second.contracts.bridgehub
    assert first.contracts.chain != second.contracts.chain
    assert second.contracts.legacy_bridge == second.contracts.asset_router
    for chain_id, it in ((270, first), (271, second)):
        manifest = json.loads((tmp_path / "chains" / str(chain_id) / MANIFEST_FILE).read_text())
        assert manifest["contracts"]["chain"] == str(it.contracts.chain)
    sent = nonce(anvil)
    assert sent == STEPS + 3 + 1 + PAIRS
    for again in (config, configured(anvil, data_dir=str(tmp_path / "chains"))):
        assert [layer.contracts for layer in opened(again)] == [first.contracts, second.contracts]
    # From the Bridgehub alone, too.
    found = opened(configured(anvil, bridgehub=str(first.contracts.bridgehub)))
    assert [layer.contracts for layer in found] == [first.contracts, second.contracts]
    assert nonce(anvil) == sent


def test_a_start_that_was_killed_between_two_manifests_is_completed(
    anvil: Anvil, tmp_path: Path
) -> None:
    directory = tmp_path / "chains"
    config = configured(anvil, data_dir=str(directory), deploy_l1=True)
    contracts = [pair.contracts for pair in opened(config)]
    (directory / "271" / MANIFEST_FILE).unlink()
    assert [pair.contracts for pair in opened(config)] == contracts
    assert nonce(anvil) == STEPS + 3 + 1 + PAIRS


def test_the_keys_in_the_table_of_a_chain_are_its_operators(anvil: Anvil, tmp_path: Path) -> None:
    file = tables(
        tmp_path / "node.toml", operator_key=str(SECOND.secret), prove_key=str(THIRD.secret)
    )
    first, second = opened(configured(anvil, file, operator_key=KEY, deploy_l1=True))
    assert [key.address for key in first.operator_keys.keys] == [OPERATOR.address]
    assert [key.address for key in second.operator_keys.keys] == [SECOND.address, THIRD.address]
    # Nobody needs funds: one call more lets the key that proves settle.
    assert nonce(anvil) == STEPS + 3 + 1 + PAIRS


def test_an_operator_without_funds_in_a_table_is_rejected(anvil: Anvil, tmp_path: Path) -> None:
    file = tables(tmp_path / "node.toml", operator_key=str(SECOND.secret))
    anvil("anvil_setBalance", str(SECOND.address), "0x0")
    problem = f"{SECOND.address.checksummed()} has no ether on http"
    with pytest.raises(LayerOneMismatch, match=problem):
        opened(configured(anvil, file, operator_key=KEY, deploy_l1=True))


def test_an_l1_that_lies_about_one_of_the_chains_is_rejected_by_its_name(
    anvil: Anvil, tmp_path: Path
) -> None:
    config = configured(anvil, data_dir=str(tmp_path / "chains"), deploy_l1=True)
    _, second = opened(config)
    lie = storage_of(artifact("ZKChain"), {"_storedBatchHashes": {0: b"\x01" * 32}})
    ((slot, value),) = lie.items()
    anvil("anvil_setStorageAt", str(second.contracts.chain), str(slot), str(value))
    with pytest.raises(LayerOneMismatch, match="the genesis of chain 271 differs"):
        opened(config)


def test_a_bridgehub_that_names_the_contract_of_another_chain_is_rejected(
    anvil: Anvil, tmp_path: Path
) -> None:
    config = configured(anvil, data_dir=str(tmp_path / "chains"), deploy_l1=True)
    first, second = opened(config)
    swapped: dict[str, Value] = {"getZKChain": {271: bytes(first.contracts.chain)}}
    ((slot, value),) = storage_of(artifact("Bridgehub"), swapped).items()
    anvil("anvil_setStorageAt", str(second.contracts.bridgehub), str(slot), str(value))
    with pytest.raises(LayerOneMismatch, match="the contract of chain 271 is 0x"):
        opened(config)
