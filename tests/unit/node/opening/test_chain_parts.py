"""The index of accounts follows the explorer: built, kept, or dropped when a directory is opened."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec

from entresol.node.config.schema import NodeConfig
from entresol.node.opening.chain_parts import new_store
from entresol.storage.store import Store
from tests.support.chain.records import address, fill, record_after, transfer

TARGET = address(40)


def opened(path: Path | None, *, explorer: bool) -> Store:
    config = NodeConfig()
    api = msgspec.structs.replace(config.api, explorer=explorer)
    return new_store(msgspec.structs.replace(config, api=api), path)


def test_an_older_directory_is_indexed_when_it_is_opened_with_the_explorer(tmp_path: Path) -> None:
    path = tmp_path / "chain"
    with closing(opened(path, explorer=False)) as store:
        first = record_after(None)
        fill(store, [first, record_after(first, transactions=[transfer(0, to=TARGET)])])
        assert not store.accounts.is_on
        assert store.accounts.last_block_of(TARGET, 1) is None
    for _ in range(2):
        with closing(opened(path, explorer=True)) as store:
            assert store.accounts.is_on
            assert store.accounts.last_block_of(TARGET, 1) == 1
    with closing(opened(path, explorer=False)) as store:
        assert not store.accounts.is_on
        assert store.accounts.last_block_of(TARGET, 1) is None


def test_a_temporary_chain_is_indexed_from_its_first_block_on() -> None:
    with closing(opened(None, explorer=True)) as store:
        assert store.accounts.is_on
    with closing(opened(None, explorer=False)) as store:
        assert not store.accounts.is_on
