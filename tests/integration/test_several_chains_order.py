"""The order in which several L2s and their L1 become durable, and what a start does if it was not kept."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from entresol.errors import LayerOneMismatch
from entresol.node.open_node import open_node
from entresol.storage.database.key_value import KeyValueStore
from tests.support.ecosystem.several_chains import several_chains, several_config


def test_an_l2_that_is_ahead_of_its_l1_is_not_served_and_both_numbers_are_given(
    tmp_path: Path,
) -> None:
    path = tmp_path / "chains"
    config = several_config(3, path, settle=False)
    with several_chains(config) as chains:
        chains.pairs[1].arrived(chains.pairs[1].deposit())
    shutil.copytree(path / "l1", tmp_path / "before")
    with several_chains(config) as chains:
        chains.pairs[2].arrived(chains.pairs[2].deposit())
        for _ in range(2):
            chains.pairs[1].arrived(chains.pairs[1].deposit())
    # What a machine leaves that has lost power, if L1 had not been durable first.
    shutil.rmtree(path / "l1")
    (tmp_path / "before").rename(path / "l1")
    with pytest.raises(LayerOneMismatch) as raised:
        asyncio.run(open_node(config))
    assert f"chain 271 is ahead of its L1: {path / '271'} has 3 transactions from L1" in str(
        raised.value
    )
    assert "but L1 has sent 1 and ends at block 1" in str(raised.value)


def test_an_l2_whose_batches_are_not_those_of_its_l1_is_not_served(tmp_path: Path) -> None:
    path, other = tmp_path / "chains", tmp_path / "other"
    with several_chains(several_config(2, path)):
        pass
    shutil.copytree(path, other)
    for directory in (path, other):
        with several_chains(several_config(2, directory)) as chains:
            pair = chains.pairs[1]
            pair.l2.receipt(pair.send_message(directory.name.encode()))
            assert chains.settled(1) == 1
    shutil.rmtree(path / "271")
    shutil.copytree(other / "271", path / "271")
    with pytest.raises(LayerOneMismatch, match="batch 1 of chain 271 on its L1 is not that of"):
        asyncio.run(open_node(several_config(2, path)))


@pytest.mark.parametrize("index", [0, 1])
def test_the_l1_block_of_a_deposit_is_synced_before_the_l2_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: int
) -> None:
    path = tmp_path / "chains"
    writes: list[tuple[str, bool]] = []
    write = KeyValueStore._write

    def recorded(store: KeyValueStore, batch: Any, puts: Any, options: Any) -> None:
        write(store, batch, puts, options)
        writes.append((store._path.parent.name, options is store._synced))

    config = several_config(2, path, settle=False)
    with several_chains(config) as chains:
        monkeypatch.setattr(KeyValueStore, "_write", recorded)
        pair = chains.pairs[index]
        pair.arrived(pair.deposit())
        monkeypatch.undo()
    first = next(at for at, (folder, _) in enumerate(writes) if folder == str(270 + index))
    assert ("l1", True) in writes[:first]
    assert all(synced for folder, synced in writes[:first] if folder == "l1")
