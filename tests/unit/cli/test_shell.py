"""What the console of `entresol shell` starts with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol import Devnet, devnet
from entresol.cli.shell import banner_of, namespace_of
from entresol.inprocess.devnet_settings import SettingValue

CHAINS: list[dict[str, SettingValue]] = [
    {"chain_id": 6565},
    {"chain_id": 6566, "base_token": "ZOO", "base_token_decimals": 6, "base_token_ratio": 3000},
]


@pytest.fixture(scope="module")
def net() -> Iterator[Devnet]:
    """Return two L2s on one L1."""
    with devnet(settle=False, chains=CHAINS) as running:
        yield running


def test_each_of_several_chains_has_a_client_and_a_bridge_by_position_and_by_id(
    net: Devnet,
) -> None:
    names = namespace_of(net)
    assert [it.eth.chain_id for it in names["l2s"]] == [6565, 6566]
    assert names["l2"] is names["l2s"][0] is names["l2_6565"]
    assert names["l2_6566"] is names["l2s"][1]
    assert names["bridge"] is names["bridges"][0] is names["bridge_6565"]
    assert names["bridge_6566"] is names["bridges"][1]
    assert names["bridge_6566"].l2 is names["l2_6566"]
    assert names["l1"].eth.chain_id == 31337


def test_one_of_each_token_that_pays_for_gas_is_there_by_its_symbol(net: Devnet) -> None:
    names = namespace_of(net)
    assert (names["ether"], names["zoo"]) == (10**18, 10**6)
    bridge, bob = names["bridge_6566"], names["accounts"][1].address
    before = names["l2_6566"].eth.get_balance(bob)
    bridge.deposit(2 * names["zoo"], to=bob)
    assert names["l2_6566"].eth.get_balance(bob) == before + 2 * 10**6


def test_an_only_chain_has_no_name_by_its_id() -> None:
    with devnet(l1=False) as net:
        names = namespace_of(net)
        assert names["l2s"] == (names["l2"],)
        assert not {"l1", "bridge", "bridges", "l2_270"} & set(names)
        assert "bridge" not in banner_of(net)
