"""Cursors are shared between writes, and never outlive what they have to."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from entresol.storage.database.key_value import KeyValueStore


@pytest.fixture
def store(tmp_path: Path) -> KeyValueStore:
    store = KeyValueStore(tmp_path / "database", durable=False, create=True)
    store.write([(b"a1", b"old")])
    return store


def newest(store: KeyValueStore) -> bytes | None:
    found = store.last_at_most(b"a9", b"a")
    assert store.read(b"a", b"a", 9)[-1:] == ([] if found is None else [found])
    return None if found is None else found[1]


def test_reads_between_two_writes_share_a_cursor(store: KeyValueStore) -> None:
    first = store._cursors.own()
    assert newest(store) == b"old"
    assert store._cursors.own() is first
    store.write([(b"a2", b"new")])
    assert store._cursors.own() is not first


@pytest.mark.parametrize("change", ["write", "write_prepared", "replace", "drop", "exchange"])
def test_a_read_after_a_change_sees_it(store: KeyValueStore, tmp_path: Path, change: str) -> None:
    other = KeyValueStore(tmp_path / "other", durable=False, create=True)
    other.write([(b"a3", b"other")])
    with ThreadPoolExecutor(1) as pool:
        assert [newest(store), pool.submit(newest, store).result()] == [b"old"] * 2
        assert newest(other) == b"other"
        match change:
            case "write":
                store.write([(b"a2", b"new")])
            case "write_prepared":
                store.write_prepared(store.prepared([(b"a2", b"new")], ()), (), sync=False)
            case "replace":
                store.replace(other.contents())
            case "drop":
                store.drop(b"a")
            case "exchange":
                store.exchange(other)
        expected = {"replace": b"other", "drop": None, "exchange": b"other"}.get(change, b"new")
        assert [newest(store), pool.submit(newest, store).result()] == [expected] * 2
    if change == "exchange":
        assert newest(other) == b"old"


def test_a_cursor_that_is_made_during_a_write_is_forgotten_with_the_others(
    store: KeyValueStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Database:
        """Ends a write of another thread while a cursor is made."""

        def __init__(self, store: KeyValueStore) -> None:
            self.store, self.db = store, store._db

        def iter(self) -> object:
            cursor = self.db.iter()
            self.store.write([(b"a2", b"new")])
            return cursor

    monkeypatch.setattr(store._cursors, "_db", Database(store))
    assert store.last_at_most(b"a9", b"a") == (b"a1", b"old")
    monkeypatch.undo()
    assert newest(store) == b"new"


@pytest.mark.parametrize("closes", [True, False])
def test_cursors_of_other_threads_keep_no_directory_open(tmp_path: Path, closes: bool) -> None:
    store = KeyValueStore(tmp_path / "database", create=True, is_synced=False)
    store.write([(b"a1", b"old")])
    with ThreadPoolExecutor(1) as pool:
        assert [newest(store), pool.submit(newest, store).result()] == [b"old"] * 2
        if closes:
            store.close()
        del store
        gc.collect()
        again = KeyValueStore(tmp_path / "database")
    assert newest(again) == b"old"
    again.close()
