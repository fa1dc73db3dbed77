"""Chains that are paid in tokens, stored and served: restart, commands, state files, workers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from web3 import Web3

from entresol import Devnet, devnet
from entresol.cli.data_directory import back_up, rebuild_chains, verify_chains
from entresol.errors import GenesisMismatch
from entresol.inprocess.devnet_settings import SettingValue

STRANGER = Web3.to_checksum_address("0x" + "5e" * 20)
CHAINS: list[dict[str, SettingValue]] = [
    {"chain_id": 300, "base_token": "ZOO", "base_token_ratio": "628/17"},
    {"chain_id": 301, "base_token": "USD", "base_token_ratio": 3000, "base_token_decimals": 6},
]
AMOUNTS = (3 * 10**18, 3 * 10**6)


def move(net: Devnet) -> None:
    """Deposit to each chain what pays for its gas, and withdraw some."""
    for bridge, amount in zip(net.bridges, AMOUNTS, strict=False):
        assert bridge.deposit(amount, to=STRANGER).l2["status"] == 1
        bridge.finalize(bridge.withdraw(amount // 3, to=STRANGER))


def owned(net: Devnet) -> list[int]:
    return [layer.w3.eth.get_balance(STRANGER) for layer in net.l2s]


def changed(index: int, settings: Mapping[str, SettingValue]) -> list[Mapping[str, SettingValue]]:
    return [{**it, **settings} if number == index else it for number, it in enumerate(CHAINS)]


def test_a_directory_goes_on_with_the_same_tokens_alone(tmp_path: Path) -> None:
    directory = tmp_path / "chains"
    with devnet(chains=CHAINS, data_dir=directory) as net:
        move(net)
        config, balances = net.config, owned(net)
        prices = [layer.w3.eth.gas_price for layer in net.l2s]
    with devnet(chains=CHAINS, data_dir=directory) as net:
        assert owned(net) == balances == list(AMOUNTS)
        assert [layer.w3.eth.gas_price for layer in net.l2s] == prices
        move(net)
    assert verify_chains(config) == rebuild_chains(config) == 0
    for chains, flag in (
        (changed(0, {"base_token": "APE"}), "--base-token"),
        (changed(0, {"base_token_ratio": 2}), "--base-token-ratio"),
        (changed(1, {"base_token_decimals": 7}), "--base-token-decimals"),
    ):
        with pytest.raises(GenesisMismatch, match=f"{flag}: "):
            devnet(chains=chains, data_dir=directory).start()
    copy = tmp_path / "copy"
    assert back_up(config, copy) == 0
    with devnet(chains=CHAINS, data_dir=copy) as net:
        assert owned(net) == [2 * amount for amount in AMOUNTS]
        move(net)


def test_a_state_file_is_loaded_by_a_node_with_the_same_token_alone() -> None:
    zoo: dict[str, Any] = CHAINS[1]
    with devnet(**zoo) as net:
        net.bridge.deposit(AMOUNTS[1], to=STRANGER)
        dumped = net.l2.request("anvil_dumpState")
    with devnet(**zoo) as net:
        net.l2.request("anvil_loadState", dumped)
        assert owned(net) == [AMOUNTS[1]]
        net.bridge.deposit(1, to=STRANGER)
        assert owned(net) == [AMOUNTS[1] + 1]
    for settings in ({"chain_id": 301}, {**zoo, "base_token_decimals": 18}):
        with devnet(**settings) as net:
            with pytest.raises(Exception, match="paid in USD with 6 decimals in the file"):
                net.l2.request("anvil_loadState", dumped)
            assert net.l2.w3.eth.block_number == 0


def test_a_state_file_of_another_chain_leaves_what_pays_for_gas() -> None:
    with devnet() as net:
        dumped = net.l2.request("anvil_dumpState")
    with devnet(**CHAINS[0]) as net:
        with pytest.raises(Exception, match="paid in ETH with 18 decimals in the file, and in ZOO"):
            net.l2.request("anvil_loadState", dumped)
        assert net.bridge.base_token.functions.symbol().call() == "ZOO"


@pytest.mark.parametrize("ids", [(270, 271), (271, 270)])
def test_a_state_file_whose_l1_has_other_chains_is_rejected(ids: tuple[int, ...]) -> None:
    written: dict[str, SettingValue] = {"chains": "270,271"} if ids[0] == 271 else {}
    with devnet(**written) as net:
        dumped = net.l2.request("anvil_dumpState")
    with devnet(chains=",".join(map(str, ids))) as net:
        with pytest.raises(Exception, match=r"chain 27\d is not registered on the L1 in the file"):
            net.l2.request("anvil_loadState", dumped)
        assert all(bridge.deposit(1).l2["status"] == 1 for bridge in net.bridges)


def test_a_node_without_an_l1_rejects_a_base_token() -> None:
    with pytest.raises(Exception, match=r"--base-token: .*--no-l1"):
        devnet(base_token=str(CHAINS[0]["base_token"]), l1=False).start()
