"""The engine: what it is opened with, and the order of its keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from entresol.errors import StoreFailed, StoreFull
from entresol.primitives.records import BlockRecord
from entresol.storage.database.key_value import SCAN_CHUNK, KeyValueStore
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
