"""The engine: what it is opened with, and the order of its keys."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from entresol.errors import StoreDamaged, StoreFailed, StoreFull
from entresol.primitives.records import BlockRecord
from entresol.storage.database.key_value import SCAN_CHUNK, DamageReport, KeyValueStore
from entresol.storage.store import Store
from tests.support.chain.records import files_of, incompressible_chain
from tests.support.small_disk import SmallDisk, mounted_disk


@pytest.fixture
def engine(tmp_path: Path) -> KeyValueStore:
    return KeyValueStore(tmp_path / "database", durable=False, create=True)


def test_neighbours_are_found_within_a_prefix(engine: KeyValueStore) -> None:
    engine.write([(key, key) for key in (b"a2", b"b1", b"b3", b"c0")])
    assert engine.last_at_most(b"b2", b"b") == (b"b1", b"b1")
    assert engine.last_at_most(b"b3", b"b") == (b"b3", b"b3")
    assert engine.last_at_most(b"b0", b"b") is None
    assert engine.first_at_least(b"b2", b"b") == (b"b3", b"b3")
    assert engine.first_at_least(b"b4", b"b") is None
    assert engine.first_at_least(b"d", b"d") is None
    assert engine.last_at_most(b"a1", b"a") is None


def test_some_entries_are_read_from_a_key_on(engine: KeyValueStore) -> None:
    engine.write([(key, key) for key in (b"a2", b"b1", b"b3", b"b5", b"c0")])
    assert engine.read(b"b2", b"b", 5) == [(b"b3", b"b3"), (b"b5", b"b5")]
    assert engine.read(b"b1", b"b", 2) == [(b"b1", b"b1"), (b"b3", b"b3")]
    assert engine.read(b"b6", b"b", 2) == []


@pytest.mark.parametrize(
    "count", [0, 1, SCAN_CHUNK - 1, SCAN_CHUNK, SCAN_CHUNK + 1, 3 * SCAN_CHUNK]
)
def test_a_walk_meets_every_key_of_its_prefix_once(engine: KeyValueStore, count: int) -> None:
    rows = [(b"b" + number.to_bytes(4), b"x") for number in range(count)]
    engine.write([(b"a", b""), *rows, (b"c", b"")])
    assert list(engine.scan(b"b")) == rows


def test_dropping_a_table_leaves_its_neighbours(engine: KeyValueStore) -> None:
    engine.write(
        [(key, b"") for key in (b"a", b"a\xff\xff", b"b", b"b\x00", b"b\xff", b"c", b"c1")]
    )
    engine.drop(b"b")
    assert [key for key, _ in engine.scan(b"")] == [b"a", b"a\xff\xff", b"c", b"c1"]


def test_what_is_deleted_and_put_in_one_write_is_there(engine: KeyValueStore) -> None:
    engine.write([(b"a", b"1"), (b"b", b"1")])
    engine.write([(b"a", b"2")], [b"a", b"b"])
    assert list(engine.scan(b"")) == [(b"a", b"2")]


# A disk without space: a typed error, and no acknowledged block lost.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with mounted_disk(tmp_path, 4) as mounted:
        yield mounted


def fill_up(store: Store) -> tuple[list[BlockRecord], BlockRecord]:
    """Append until there is no space left; return what was appended, and what was not."""
    taken: list[BlockRecord] = []
    for record in incompressible_chain():
        try:
            store.append(record, [])
        except StoreFull:
            return taken, record
        taken.append(record)
    raise AssertionError


def test_a_full_disk_reverts_nothing(small_disk: SmallDisk) -> None:
    store = Store.open(small_disk.path / "chain")
    acknowledged, rejected = fill_up(store)
    assert list(store.records()) == acknowledged
    with pytest.raises(StoreFull, match="make room, the node then continues by itself"):
        store.append(rejected, [])
    with pytest.raises(StoreFailed):
        store.close()
    before = files_of(small_disk.path / "chain")
    with pytest.raises(StoreFull):
        Store.open(small_disk.path / "chain")
    assert files_of(small_disk.path / "chain") == before
    small_disk.enlarge(32)
    store = Store.open(small_disk.path / "chain")
    assert list(store.records()) == acknowledged
    store.append(rejected, [])
    store.close()


def test_a_store_takes_writes_again_once_there_is_space(small_disk: SmallDisk) -> None:
    store = Store.open(small_disk.path / "chain")
    acknowledged, rejected = fill_up(store)
    assert isinstance(store.failure, StoreFull)
    assert not store.recover()
    assert list(store.records()) == acknowledged
    small_disk.enlarge(64)
    store.append(rejected, [])
    assert store.recover()
    assert list(store.records()) == [*acknowledged, rejected]
    store.close()
    store = Store.open(small_disk.path / "chain")
    assert list(store.records()) == [*acknowledged, rejected]
    store.close()


def test_rewrites_are_counted_and_new_blocks_are_not(engine: KeyValueStore, tmp_path: Path) -> None:
    other = KeyValueStore(tmp_path / "other", durable=False, create=True)
    counts = [engine.rewrites]
    engine.write([(b"a", b"1")], rewrites=False)
    engine.write_prepared(engine.prepared([(b"b", b"1")], ()), (), sync=False)
    assert engine.rewrites == counts[-1]
    rewrites: list[Callable[[], None]] = [
        lambda: engine.write([(b"a", b"2")]),
        lambda: engine.drop(b"a"),
        lambda: engine.replace(other.contents()),
        lambda: engine.exchange(other),
    ]
    for rewrite in rewrites:
        rewrite()
        counts.append(engine.rewrites)
    assert counts == sorted(set(counts))


def test_a_secondary_that_catches_up_may_read_something_else(tmp_path: Path) -> None:
    first = KeyValueStore(tmp_path / "database", create=True, shared=True)
    second = KeyValueStore(tmp_path / "database", secondary=tmp_path / "second")
    before = second.rewrites
    first.write([(b"a", b"1")])
    assert second.rewrites == before
    second.catch_up()
    assert second.rewrites > before
    assert second.get(b"a") == b"1"
    second.close()
    first.close()


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


ROWS = [(b"a" + number.to_bytes(4), bytes([number % 251]) * 64) for number in range(2_000)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a database whose only file with rows is damaged."""
    path = tmp_path / "database"
    engine = KeyValueStore(path, create=True)
    engine.write(ROWS)
    engine._db.flush()
    engine.close()
    for file in path.glob("*.sst"):
        damage(file)
    return path


def damage(file: Path) -> None:
    """Flip bytes of every block but the last ones, which RocksDB reads when it opens the file."""
    data = bytearray(file.read_bytes())
    for index in range(0, len(data) // 2, 32):
        data[index] ^= 0xFF
    file.write_bytes(data)


def test_every_read_of_a_damaged_file_says_so_and_the_log_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = KeyValueStore(path)
    key = ROWS[0][0]
    for read in (
        lambda: engine.get(key),
        lambda: engine.last_at_most(key, b"a"),
        lambda: engine.first_at_least(key, b"a"),
        lambda: engine.read(key, b"a", 5),
        lambda: list(engine.scan(b"a")),
        engine.contents,
    ):
        with pytest.raises(StoreDamaged):
            read()
    assert engine.damage.first is not None
    engine.close()
    (line,) = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    for advice in ("entresol verify", "entresol rebuild", "entresol backup", str(path)):
        assert advice in line


def test_a_damaged_database_still_takes_writes_and_a_replacement_mends_it(path: Path) -> None:
    engine = KeyValueStore(path)
    with pytest.raises(StoreDamaged):
        engine.get(ROWS[0][0])
    engine.write([(b"b", b"1")])
    assert engine.get(b"b") == b"1"
    other = KeyValueStore(path.with_name("other"), create=True)
    other.write(ROWS)
    engine.replace(other.contents())
    assert engine.damage.first is None
    assert engine.get(ROWS[0][0]) == ROWS[0][1]
    other.close()
    engine.close()


def test_a_closed_database_is_not_damaged(tmp_path: Path) -> None:
    engine = KeyValueStore(tmp_path / "database", create=True)
    engine.close()
    with pytest.raises(StoreFailed) as caught:
        engine.get(b"a")
    assert not isinstance(caught.value, StoreDamaged)
    assert engine.damage.first is None


def test_a_file_that_the_writing_process_has_replaced_is_not_damage(tmp_path: Path) -> None:
    gone = Exception("IO error: No such file or directory: While open a file: 000012.sst")
    secondary, primary = DamageReport(is_secondary=True), DamageReport()
    assert type(secondary.of(tmp_path, gone)) is StoreFailed
    assert secondary.first is None
    assert type(primary.of(tmp_path, gone)) is StoreDamaged
    assert primary.first is not None
