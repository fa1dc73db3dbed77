"""A second node that registers its chain on the Bridgehub of a first one; their L1 is anvil."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.errors import ChainNotRegistered, InvalidConfig, LayerOneMismatch
from entresol.node.config.schema import SETTINGS, NodeConfig
from entresol.node.open_node import open_node
from entresol.node.settlement.manifest import MANIFEST_FILE
from entresol.node.settlement.settlement_layer import SettlementLayer
from entresol.primitives.values import Address
from tests.support.anvil import Anvil, fresh_anvil
from tests.support.contracts.engine import Contract, find
from tests.support.ecosystem.interrupted_start import completed, killed_at_each_line
from tests.support.hex_data import hexed
from tests.support.inprocess_node import inprocess_node
from tests.support.node_process import DEVELOPMENT_FLAGS
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rollup.pair import ETHER, USER, Pair

pytestmark = pytest.mark.peer

OWNER, SECOND, THIRD = derive(DEVELOPMENT_MNEMONIC, 3)
CALL = re.compile(
    r"Its owner, (?P<owner>0x\w{40}), has to call registerChain\(271, (?P<manager>0x\w{40}), "
    r"(?P<chain>0x\w{40}|<the contract of the chain>), (?P<token>0x\w{64}), (?P<genesis>0x\w{64})\) "
    r"of (?P<bridgehub>0x\w{40})"
)


class Deployed(msgspec.Struct):
    """An anvil on which a node has deployed the contracts of chain 270."""

    anvil: Anvil
    first: SettlementLayer

    @property
    def bridgehub(self) -> str:
        return str(self.first.contracts.bridgehub)

    def second(self, **flags: Any) -> NodeConfig:
        """Return the settings of another node, whose operator has another account."""
        given = {"bridgehub": self.bridgehub, "chain_id": 271, "operator_key": str(SECOND.secret)}
        return configured(self.anvil, **(given | flags))


@pytest.fixture(scope="module")
def first() -> Iterator[Deployed]:
    with fresh_anvil() as anvil:
        config = configured(anvil, deploy_l1=True, operator_key=str(OWNER.secret))
        yield Deployed(anvil, opened(config)[0])


@pytest.fixture
def deployed(first: Deployed) -> Iterator[Deployed]:
    with first.anvil.isolated():
        yield first


def configured(anvil: Anvil, **flags: Any) -> NodeConfig:
    return SETTINGS.load({"l1_url": anvil.url, "port": 0, **flags}, {}, None)


def opened(config: NodeConfig) -> list[SettlementLayer]:
    async def whole() -> list[SettlementLayer]:
        node = await open_node(config)
        await node.stop()
        return [rollup.settlement_layer for rollup in node.rollups]

    return asyncio.run(asyncio.wait_for(whole(), PATIENCE_SECONDS))


def sent_by(anvil: Anvil, account: Address) -> int:
    return int(anvil("eth_getTransactionCount", str(account), "latest"), 16)


def test_two_nodes_on_one_bridgehub_take_deposits_and_pay_withdrawals(
    deployed: Deployed, tmp_path: Path
) -> None:
    anvil, key_file = deployed.anvil, tmp_path / "owner.key"
    key_file.write_text(str(OWNER.secret))
    key_file.chmod(0o600)
    common = ("--l1-url", anvil.url, "--l1-confirmations", "0", "--settle-interval", "0.05")
    infos = [tmp_path / "first.json", tmp_path / "second.json"]
    first = ("--deploy-l1", "--operator-key", str(THIRD.secret))
    with inprocess_node(
        *common, *first, *DEVELOPMENT_FLAGS, "--config-out", str(infos[0]), info=infos[0]
    ):
        contracts = json.loads(infos[0].read_text())["l1"]["contracts"]
        key_file.write_text(str(THIRD.secret))
        second = (
            *("--bridgehub", contracts["bridgehub"], "--bridgehub-owner-key-file", str(key_file)),
            *("--chain-id", "271", "--operator-key", str(SECOND.secret)),
        )
        with (
            inprocess_node(*common, *second, *DEVELOPMENT_FLAGS, "--config-out", str(infos[1]), info=infos[1]),
            contextlib.closing(Pair.connect(infos[0])) as one,
            contextlib.closing(connected(infos[1], 271)) as other,
        ):  # fmt: skip
            assert one.bridgehub.address == other.bridgehub.address
            assert one.call_l1(one.bridgehub, "getAllZKChainChainIDs") == (270, 271)
            for pair in (one, other):
                assert pair.arrived(pair.deposit(ETHER, to=USER))["status"] == "0x1"
                withdrawal = pair.withdraw(ETHER // 2)
                assert pair.l1.receipt(pair.claim(withdrawal))["status"] == "0x1"


def connected(info: Path, chain_id: int) -> Pair:
    pair = Pair.connect(info)
    contracts = json.loads(info.read_text())["l1"]["contracts"]
    named = {name: Address.parse(it) for name, it in contracts.items()}
    return Pair(pair.l1, pair.l2, named, chain_id)


def test_a_chain_is_registered_once_and_found_again(deployed: Deployed, tmp_path: Path) -> None:
    key = str(OWNER.secret)
    config = deployed.second(data_dir=str(tmp_path / "chain"), bridgehub_owner_key=key)
    (registered,) = opened(config)
    shared, own = deployed.first.contracts, registered.contracts
    assert own == msgspec.structs.replace(
        shared, chain=own.chain, legacy_bridge=shared.asset_router
    )
    counts = [sent_by(deployed.anvil, account.address) for account in (OWNER, SECOND)]
    without = deployed.second(data_dir=str(tmp_path / "chain"), bridgehub=None)
    for again in (config, without, deployed.second()):
        assert opened(again)[0].contracts == own
    assert [sent_by(deployed.anvil, account.address) for account in (OWNER, SECOND)] == counts
    # The contract, the right to settle, and each of two chains told of the other.
    assert counts[1] == 4


def test_without_the_owners_key_the_error_has_the_call_to_make(
    deployed: Deployed, tmp_path: Path
) -> None:
    directory = tmp_path / "chain"
    with pytest.raises(ChainNotRegistered) as planned:
        opened(deployed.second(data_dir=str(directory)))
    found = CALL.search(str(planned.value))
    assert found is not None
    assert found["chain"] == "<the contract of the chain>"
    # Nothing is sent, and nothing is created.
    assert sent_by(deployed.anvil, SECOND.address) == 0
    assert not directory.exists()

    config = deployed.second(data_dir=str(directory), deploy_l1=True)
    for _ in range(2):
        with pytest.raises(ChainNotRegistered) as created:
            opened(config)
    found = CALL.search(str(created.value))
    assert found is not None
    # It stays what it is, also without the flag.
    with pytest.raises(ChainNotRegistered, match=found["chain"]):
        opened(deployed.second(data_dir=str(directory)))
    assert sent_by(deployed.anvil, SECOND.address) == 1
    assert Address.parse(found["owner"]) == OWNER.address

    # The owner makes it as it says, and the next start completes the rest.
    arguments = (271, *(Address.parse(found[name]) for name in ("manager", "chain")))
    words = (bytes.fromhex(found[name][2:]) for name in ("token", "genesis"))
    hub = Contract(Address.parse(found["bridgehub"]), find("Bridgehub"))
    data = hexed(hub.encode("registerChain", *arguments, *words))
    call = {"from": str(OWNER.address), "to": str(hub.address), "data": data}
    assert deployed.anvil.receipt(deployed.anvil("eth_sendTransaction", call))["status"] == "0x1"
    assert str(opened(config)[0].contracts.chain) == found["chain"].lower()


def test_a_registration_that_is_killed_before_each_line_of_its_log_is_completed_once(
    deployed: Deployed, tmp_path: Path
) -> None:
    key, directory = str(OWNER.secret), str(tmp_path / "chains")
    config = deployed.second(chains="2", data_dir=directory, bridgehub_owner_key=key)
    before = sent_by(deployed.anvil, OWNER.address)
    with killed_at_each_line() as lines:
        layers = completed(lambda: opened(config))
    assert [line for line in lines if line.startswith("registering chain")] == [
        f"registering chain {number} at {layers[0].contracts.bridgehub.checksummed()}"
        for number in (271, 272)
    ]
    # Each was registered once, and created once; the first operator sent ether to the second, and told all of all.
    assert sent_by(deployed.anvil, OWNER.address) == before + 2
    assert sent_by(deployed.anvil, SECOND.address) == 3 + 3 * 2
    assert sent_by(deployed.anvil, layers[1].operator_keys.deployer.address) == 2


def test_a_nonce_that_was_taken_meanwhile_is_planned_again(
    deployed: Deployed, tmp_path: Path
) -> None:
    directory, key = tmp_path / "chain", str(OWNER.secret)
    config = deployed.second(data_dir=str(directory), bridgehub_owner_key=key)
    with pytest.raises(ChainNotRegistered):
        opened(deployed.second(data_dir=str(directory), deploy_l1=True))
    path = directory / MANIFEST_FILE
    manifest = json.loads(path.read_text())
    manifest["contracts"]["chain"] = "0x" + "12" * 20
    path.write_text(json.dumps(manifest))
    (registered,) = opened(config)
    assert json.loads(path.read_text())["contracts"]["chain"] == str(registered.contracts.chain)


def test_an_owner_without_funds_is_named(deployed: Deployed) -> None:
    deployed.anvil("anvil_setBalance", str(OWNER.address), "0x0")
    problem = f"the owner of the Bridgehub {OWNER.address.checksummed()} has not enough funds"
    with pytest.raises(LayerOneMismatch, match=problem):
        opened(deployed.second(bridgehub_owner_key=str(OWNER.secret)))


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (
            {"bridgehub_owner_key": str(THIRD.secret)},
            "--bridgehub-owner-key: 0x.* is owned by 0xf39",
        ),
        ({"bridgehub_owner_key": "0x12"}, "--bridgehub-owner-key: a private key is 64 hex digits"),
        ({"deploy_l1": True}, "--data-dir: without it the chain's contract is forgotten"),
    ],
)
def test_flags_that_register_nothing_are_rejected_before_anything_is_sent(
    deployed: Deployed, flags: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidConfig, match=problem):
        opened(deployed.second(**flags))
    assert sent_by(deployed.anvil, SECOND.address) == 0


def test_a_chain_that_is_registered_with_another_contract_keeps_it(
    deployed: Deployed, tmp_path: Path
) -> None:
    key = str(OWNER.secret)
    mine = deployed.second(data_dir=str(tmp_path / "mine"), deploy_l1=True)
    with pytest.raises(ChainNotRegistered):
        opened(mine)
    opened(deployed.second(operator_key=str(THIRD.secret), bridgehub_owner_key=key))
    with pytest.raises(LayerOneMismatch, match="the contract of chain 271 is 0x"):
        opened(mine)
