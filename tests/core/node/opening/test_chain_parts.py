"""The index of accounts follows the explorer: built, kept, or dropped when a directory is opened."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from entresol.chain.chain import Chain
from entresol.chain.mining_schedule import MiningMode
from entresol.chain.rules import ChainRules
from entresol.features.explorer.account_index import IndexedAccounts
from entresol.features.explorer.settings import ExplorerConfig
from entresol.node.config.schema import SETTINGS, NodeConfig
from entresol.node.opening.chain_parts import new_store, start_mining
from entresol.storage.store import Store
from tests.support.chain.dev_chain import GENESIS
from tests.support.chain.records import address, fill, record_after, transfer

TARGET = address(40)


def opened(path: Path | None, *, explorer: bool) -> Store:
    return new_store(NodeConfig().with_(ExplorerConfig, explorer=explorer), path)


def test_an_older_directory_is_indexed_when_it_is_opened_with_the_explorer(tmp_path: Path) -> None:
    path = tmp_path / "chain"
    with closing(opened(path, explorer=False)) as store:
        first = record_after(None)
        fill(store, [first, record_after(first, transactions=[transfer(0, to=TARGET)])])
        assert not IndexedAccounts(store).is_on
        assert IndexedAccounts(store).last_block_of(TARGET, 1) is None
    for _ in range(2):
        with closing(opened(path, explorer=True)) as store:
            assert IndexedAccounts(store).is_on
            assert IndexedAccounts(store).last_block_of(TARGET, 1) == 1
    with closing(opened(path, explorer=False)) as store:
        assert not IndexedAccounts(store).is_on
        assert IndexedAccounts(store).last_block_of(TARGET, 1) is None


@pytest.mark.parametrize(
    ("given", "mode"),
    [
        ({}, MiningMode.INTERVAL),
        ({"mixed_mining": True}, MiningMode.MIXED),
        ({"mining": False}, MiningMode.MANUAL),
    ],
)
def test_the_block_time_of_a_preset_gives_way_to_other_mining(
    given: dict[str, object], mode: MiningMode
) -> None:
    config = SETTINGS.load({"preset": "zksync-os", **given}, {}, None)
    with closing(Chain.open(None, ChainRules.layer_2(), GENESIS)) as chain:
        start_mining(chain, config.chain)
        assert chain.schedule.mode is mode
