"""Indexes of a store: complete while they are kept, and gone when nothing keeps them any more."""

from __future__ import annotations

import logging
import random
from contextlib import closing
from pathlib import Path

import pytest

from entresol.primitives.records import BlockRecord
from entresol.storage import block_index, tables
from entresol.storage.block_index import BlockIndex, is_complete
from entresol.storage.database.key_value import KeyValueStore, Row
from entresol.storage.store import Store
from tests.support.chain.records import (
    SENDERS,
    SenderIndex,
    dump,
    fill,
    nodes_of,
    random_chain,
    without_shared,
)

INDEX = SenderIndex()
CHAIN = random_chain(random.Random(1), 30)


def rows_of(store: Store) -> dict[bytes, bytes]:
    return {key: row for key, row in dump(store).items() if key.startswith(SENDERS)}


def expected(chain: list[BlockRecord]) -> dict[bytes, bytes]:
    return {
        SENDERS + sender + tables.number(number): b""
        for number, record in enumerate(chain)
        for _, sender in record.transactions
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the directory of a chain with an index."""
    with closing(Store.open(tmp_path / "chain", durable=False, indexes=[INDEX])) as store:
        fill(store, CHAIN)
        assert rows_of(store) == expected(CHAIN)
    return tmp_path / "chain"


def reopened(path: Path, *indexes: BlockIndex, rebuilding: bool = False) -> closing[Store]:
    return closing(Store.open(path, durable=False, rebuilding=rebuilding, indexes=indexes))


def test_an_index_is_kept_when_its_directory_is_opened_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_index, "_build", None)
    with reopened(path, INDEX) as store:
        more = random_chain(random.Random(2), 33, CHAIN)
        fill(store, more[30:])
        assert rows_of(store) == expected(more)


def test_an_index_that_nothing_keeps_is_dropped_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "entresol.storage")
    for _ in range(2):
        with reopened(path) as store:
            assert not rows_of(store)
            assert not is_complete(store.rows, INDEX)
    assert caplog.messages == ["dropped the index of senders, which nothing here keeps"]
    with reopened(path, INDEX) as store:
        assert rows_of(store) == expected(CHAIN)


def test_a_directory_that_is_only_read_keeps_an_index(path: Path) -> None:
    with closing(Store.open(path, durable=False)) as store:
        assert rows_of(store) == expected(CHAIN)
        assert is_complete(store.rows, INDEX)


def test_a_block_that_is_written_without_an_index_drops_it(path: Path) -> None:
    with closing(Store.open(path, durable=False)) as store:
        fill(store, random_chain(random.Random(2), 31, CHAIN)[30:])
        assert not rows_of(store)
        assert not is_complete(store.rows, INDEX)


class InterruptedIndex(SenderIndex):
    """The index, with a build that is interrupted."""

    def rows_of(self, db: KeyValueStore, record: BlockRecord, number: int) -> list[Row]:
        if number == 20:
            raise KeyboardInterrupt
        return super().rows_of(db, record, number)


@pytest.mark.parametrize("indexes", [(), (INDEX,)])
def test_an_index_that_was_begun_and_not_completed_is_dropped(
    tmp_path: Path, indexes: tuple[BlockIndex, ...]
) -> None:
    with reopened(tmp_path) as store:
        fill(store, CHAIN)
        with pytest.raises(KeyboardInterrupt):
            store.keep_indexes([InterruptedIndex()])
        assert rows_of(store)
        assert not is_complete(store.rows, INDEX)
    with reopened(tmp_path, *indexes) as store:
        assert rows_of(store) == (expected(CHAIN) if indexes else {})


class MovedIndex(SenderIndex):
    """The index of a later version, with rows in another table."""

    tables = (b"Y",)

    def keys_of(self, db: KeyValueStore, record: BlockRecord, number: int) -> list[bytes]:
        return [b"Y" + key[1:] for key in super().keys_of(db, record, number)]


def test_an_index_with_other_tables_is_built_anew(path: Path) -> None:
    with reopened(path, MovedIndex()) as store:
        assert not rows_of(store)
        moved = {key[1:] for key, _ in store.rows.scan(b"Y")}
    assert moved == {key[1:] for key in expected(CHAIN)}


def test_blocks_that_take_the_place_of_reverted_ones_leave_no_rows_of_them(path: Path) -> None:
    with reopened(path, INDEX) as store:
        before = dump(store)
        store.unwind(12)
        assert dict(store.rows.scan(SENDERS)) == expected(CHAIN)
        other = random_chain(random.Random(3), 30, CHAIN[:13])
        fill(store, other[13:])
        assert rows_of(store) == expected(other)
        store.unwind(12)
        fill(store, CHAIN[13:])
        assert without_shared(dump(store)) == without_shared(before)


def test_an_index_is_rebuilt_if_it_is_kept_and_was_there(path: Path) -> None:
    with reopened(path, INDEX, rebuilding=True) as store:
        before = dump(store)
        store.rows.write([(SENDERS + b"damaged", b"")], list(rows_of(store)))
        store.rebuild(nodes_of)
        assert dump(store) == before
    with reopened(path, rebuilding=True) as store:
        store.rebuild(nodes_of)
        assert not rows_of(store)
    with reopened(path, INDEX, rebuilding=True) as store:
        store.rebuild(nodes_of)
        assert not rows_of(store)


@pytest.mark.parametrize("is_temporary", [False, True])
def test_a_chain_that_takes_the_place_of_another_has_its_indexes(
    path: Path, *, is_temporary: bool
) -> None:
    other = random_chain(random.Random(4), 10)
    directory = closing(Store.temporary(indexes=[INDEX])) if is_temporary else reopened(path, INDEX)
    with directory as store, closing(Store.temporary()) as source:
        fill(source, other)
        store.prepare_replace(source)
        store.replace(source)
        more = random_chain(random.Random(5), 12, other)
        fill(store, more[10:])
        assert rows_of(store) == expected(more)


def test_a_copy_has_the_indexes_and_keeps_them(path: Path) -> None:
    with reopened(path, INDEX) as store:
        copy = store.copy()
    assert copy is not None
    with closing(copy):
        more = random_chain(random.Random(6), 32, CHAIN)
        fill(copy, more[30:])
        assert rows_of(copy) == expected(more)
