"""Copies of a chain: of one that is open, and of one that changes meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from entresol.errors import StoreFailed
from entresol.storage.database import backup
from entresol.storage.database.backup import copy_chain, copy_chains
from tests.support.chain.dev_chain import open_chain, seal_block, transaction


def test_a_copy_of_an_open_chain_has_every_sealed_block(tmp_path: Path) -> None:
    chain = open_chain(tmp_path / "chain")
    for nonce in range(3):
        seal_block(chain.ledger, transaction(nonce))
    copy_chain(tmp_path / "chain", tmp_path / "copy")
    seal_block(chain.ledger, transaction(3))
    copied = open_chain(tmp_path / "copy")
    assert copied.number == 3
    copied.verify()
    seal_block(copied.ledger, transaction(3, wei=7))
    assert chain.ledger.record(4) != copied.ledger.record(4)
    copied.close()
    chain.verify()
    chain.close()


def test_a_copy_begins_anew_if_tables_change_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = open_chain(tmp_path / "chain")
    seal_block(chain.ledger, transaction(0))
    manifest, changes = backup._manifest, iter([1])
    seen: list[tuple[str, int]] = []

    def changing(database: Path) -> tuple[str, int]:
        seen.append(manifest(database))
        # Between the first two looks it seems to have grown.
        name, size = seen[-1]
        return name, size + next(changes, 0)

    monkeypatch.setattr(backup, "_manifest", changing)
    copy_chain(tmp_path / "chain", tmp_path / "copy")
    assert len(seen) == 4
    copied = open_chain(tmp_path / "copy")
    assert copied.number == 1
    copied.close()
    chain.close()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    open_chain(tmp_path / "chain").close()
    (tmp_path / "copy").mkdir()
    with pytest.raises(StoreFailed, match="exists"):
        copy_chain(tmp_path / "chain", tmp_path / "copy")


def test_two_chains_are_copied_again_if_one_changes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = open_chain(tmp_path / "chain")
    inner = open_chain(tmp_path / "chain" / "l1")
    copies: list[Path] = []

    def copy_and_seal(source: Path, destination: Path) -> None:
        copy_chain(source, destination)
        copies.append(destination)
        if len(copies) == 2:
            seal_block(outer.ledger, transaction(0))

    monkeypatch.setattr(backup, "copy_chain", copy_and_seal)
    copy_chains(tmp_path / "chain", tmp_path / "copy", [Path(), Path("l1")])
    assert len(copies) == 4
    for folder, head in ((Path(), 1), (Path("l1"), 0)):
        copied = open_chain(tmp_path / "copy" / folder)
        assert copied.number == head
        copied.close()
    inner.close()
    outer.close()
