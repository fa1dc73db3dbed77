"""Chains that are paid in a token of an L1 elsewhere, which is anvil."""

from __future__ import annotations

import asyncio
import contextlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from eth_abi import abi

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.chain.genesis.genesis_contracts import base_token_of
from entresol.errors import EntresolError, InvalidConfig
from entresol.node.config.schema import SETTINGS, NodeConfig
from entresol.node.open_node import open_node
from entresol.node.settlement.manifest import MANIFEST_FILE
from entresol.node.settlement.settlement_layer import SettlementLayer
from entresol.primitives.base_token import ETH_TOKEN, BaseToken
from entresol.primitives.values import Address
from tests.support.anvil import Anvil
from tests.support.cluster.postgres import Postgres
from tests.support.contracts.engine import Contract, find
from tests.support.ecosystem.ecosystem import Resident
from tests.support.ecosystem.interrupted_start import completed, killed_at_each_line
from tests.support.hex_data import hexed
from tests.support.inprocess_node import inprocess_node, run_command
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rollup.pair import ETHER, USER, Pair
from tests.support.rpc_client import HttpRpcClient

pytestmark = pytest.mark.peer

OPERATOR, SECOND = derive(DEVELOPMENT_MNEMONIC, 2)
STEPS = 16


def create_token(anvil: Anvil, symbol: str = "ZOO", decimals: int = 18) -> Address:
    """Create a token of which the user has a million."""
    compiled = find("TestERC20")
    arguments = abi.encode(["string", "string", "uint8"], [f"{symbol} coin", symbol, decimals])
    creation = {"from": str(USER), "data": hexed(compiled.bytecode + arguments)}
    created = anvil.receipt(anvil("eth_sendTransaction", creation))
    token = Contract(Address.parse(created["contractAddress"]), compiled)
    mint = hexed(token.encode("mint", USER, 10 ** (6 + decimals)))
    anvil("eth_sendTransaction", {"from": str(USER), "to": str(token.address), "data": mint})
    return token.address


def configured(anvil: Anvil, **flags: Any) -> NodeConfig:
    key = str(OPERATOR.secret)
    given = {"l1_url": anvil.url, "port": 0, "operator_key": key, **flags}
    return SETTINGS.load(given, {}, None)


def opened(config: NodeConfig) -> tuple[list[SettlementLayer], list[BaseToken]]:
    """Open a node; return what its chains settle on, and the tokens in their genesis."""

    async def whole() -> tuple[list[SettlementLayer], list[BaseToken]]:
        node = await open_node(config)
        tokens = [base_token_of(layer_two.chain.genesis.alloc) for layer_two in node.layer_twos]
        await node.stop()
        return [rollup.settlement_layer for rollup in node.rollups], tokens

    return asyncio.run(asyncio.wait_for(whole(), PATIENCE_SECONDS))


def test_a_chain_that_is_paid_in_a_token_of_its_l1_takes_deposits_and_pays_withdrawals(
    anvil: Anvil, tmp_path: Path
) -> None:
    token, info = create_token(anvil), tmp_path / "info.json"
    flags = (
        *("--l1-url", anvil.url, "--operator-key", str(OPERATOR.secret), "--deploy-l1"),
        *("--base-token", str(token), "--base-token-ratio", "3000", "--config-out", str(info)),
        *("--l1-confirmations", "0", "--settle-interval", "0.05", "--data-dir"),
        *(str(tmp_path / "chain"), "--dev-methods", "--expose-unlocked-accounts"),
    )
    with inprocess_node(*flags, info=info) as node:
        with contextlib.closing(Pair.connect(info)) as pair:
            resident = Resident(pair)
            assert resident.base_token == token
            # Nobody has any before a deposit.
            assert resident.balance(token) == 0
            resident.approve(token)
            resident.deposit(token, 10 * ETHER)
            assert resident.balance(token) >= 10 * ETHER
            resident.deposit(ETH_TOKEN, 7)
            assert resident.balance(ETH_TOKEN) == 7
            pair.l2("anvil_impersonateAccount", str(USER))
            for asset, amount in ((token, ETHER), (ETH_TOKEN, 7)):
                resident.claim(resident.withdraw(asset, amount))
        assert node.stop() == 0
    verified = run_command("verify", "--data-dir", str(tmp_path / "chain"))
    assert verified.returncode == 0, verified.stderr


def test_the_token_is_read_from_l1_once_and_needs_no_flag_afterwards(
    anvil: Anvil, tmp_path: Path
) -> None:
    address, directory = create_token(anvil, "SIX", 6), str(tmp_path / "chain")
    flags = {"base_token": str(address), "base_token_ratio": "628/17"}
    _, (token,) = opened(configured(anvil, data_dir=directory, deploy_l1=True, **flags))
    assert (token.name, token.symbol, token.decimals) == ("SIX coin", "SIX", 6)
    manifest = json.loads((tmp_path / "chain" / MANIFEST_FILE).read_text())
    assert manifest["paid_in"]["address"] == str(address)
    # A token that says something else later changes nothing.
    anvil("anvil_setCode", str(address), "0x")
    for again in ({}, flags):
        (layer,), tokens = opened(configured(anvil, data_dir=directory, **again))
        assert tokens == [token]
    # Only a new directory has to read it again.
    with pytest.raises(InvalidConfig, match="--base-token: there is no contract at 0x"):
        opened(configured(anvil, bridgehub=str(layer.contracts.bridgehub)))


def test_a_chain_is_found_from_the_bridgehub_with_its_token(anvil: Anvil) -> None:
    address = create_token(anvil)
    ((layer,), tokens) = opened(configured(anvil, deploy_l1=True, base_token=str(address)))
    bridgehub = str(layer.contracts.bridgehub)
    assert opened(configured(anvil, bridgehub=bridgehub))[1] == tokens
    other = create_token(anvil, "OTHER")
    with pytest.raises(InvalidConfig, match=r"--base-token: chain 270 is paid in ZOO \(0x"):
        opened(configured(anvil, bridgehub=bridgehub, base_token=str(other)))


def test_chains_with_two_tokens_are_one_deployment_that_may_be_killed_between_any_two_steps(
    anvil: Anvil, tmp_path: Path
) -> None:
    tokens = [create_token(anvil, name) for name in ("ONE", "TWO")]
    file = tmp_path / "node.toml"
    tables = [f'[[chains]]\nchain_id = {it}\nbase_token = "{token}"\n'
              for it, token in zip((270, 271, 272), (tokens[0], tokens[1], tokens[1]), strict=True)]  # fmt: skip
    file.write_text("".join(tables))
    flags = {"l1_url": anvil.url, "port": 0, "operator_key": str(OPERATOR.secret)}
    flags |= {"deploy_l1": True, "data_dir": str(tmp_path / "chains")}
    config = SETTINGS.load(flags, {}, file)
    with killed_at_each_line():
        layers, found = completed(lambda: opened(config))
    assert [token.symbol for token in found] == ["ONE", "TWO", "TWO"]
    assert len({layer.contracts.chain for layer in layers}) == 3
    # Two tokens are registered, two operators get ether, and each chain is told of the others.
    sent = anvil("eth_getTransactionCount", str(OPERATOR.address), "latest")
    assert int(sent, 16) == STEPS + 2 * 3 + 2 + 2 + 3 * 2


def test_the_chain_of_a_cluster_is_paid_in_a_token_of_its_l1(
    anvil: Anvil, postgres: Postgres
) -> None:
    token, database = create_token(anvil), postgres.new_database()
    remote = ("--l1-url", anvil.url, "--operator-key", str(OPERATOR.secret))
    created = ("--deploy-l1", "--base-token", str(token), "--base-token-ratio", "3000")
    done = run_command("cluster", "init", *remote, *created, "--cluster", database)
    assert done.returncode == 0, done.stderr
    wrong = run_command("--cluster", database, *remote, "--base-token", "ETH", "--port", "0")
    assert wrong.returncode == 2
    assert "--base-token: chain 270 is paid in ZOO" in wrong.stderr
    with inprocess_node("--cluster", database, *remote, "--base-token", str(token)) as node:
        client = HttpRpcClient(node.url)
        assert client("zks_getBaseTokenL1Address") == str(token)
        assert client("eth_gasPrice") == hex(3000 * 10**8)
        client.close()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("0x" + "12" * 20, "--base-token: there is no contract at 0x1212"),
        ("long", "--base-token: the token at 0x.* has a name of more than 64 characters"),
    ],
)
def test_what_is_no_token_is_rejected_before_anything_is_sent(
    anvil: Anvil, name: str, problem: str
) -> None:
    (first,), _ = opened(configured(anvil, deploy_l1=True))
    bridgehub, key = str(first.contracts.bridgehub), str(OPERATOR.secret)
    given = str(create_token(anvil, "Z" * 64)) if name == "long" else name
    where = {"bridgehub": bridgehub, "bridgehub_owner_key": key}
    sent = anvil("eth_getTransactionCount", str(OPERATOR.address), "latest")
    with pytest.raises(EntresolError, match=problem):
        opened(configured(anvil, chain_id=271, base_token=given, **where))
    assert anvil("eth_getTransactionCount", str(OPERATOR.address), "latest") == sent


def test_prices_follow_the_ratio_on_l1_once_it_is_confirmed_and_a_restart_needs_no_flag(
    anvil: Anvil, tmp_path: Path
) -> None:
    flags = {"base_token": str(create_token(anvil, "SIX", 6)), "base_token_ratio": "3000000000"}
    directory = {"data_dir": str(tmp_path / "chain"), "l1_confirmations": 2}

    async def play() -> None:
        node = await open_node(configured(anvil, deploy_l1=True, **flags, **directory))
        await node.start()
        (rollup,), (service,) = node.rollups, node.layer_twos
        assert service.chain.next_base_fee() == 300_000
        await rollup.set_ratio(Fraction(6 * 10**9))
        assert service.chain.next_base_fee() == 300_000, "not confirmed"
        for _ in range(2):
            await asyncio.to_thread(anvil, "evm_mine")
        assert rollup.ether_price is not None
        await rollup.ether_price.refresh()
        assert service.chain.next_base_fee() == 600_000
        await node.stop()
        node = await open_node(configured(anvil, **directory))
        assert node.layer_twos[0].chain.next_base_fee() == 600_000
        await node.stop()

    asyncio.run(play())
