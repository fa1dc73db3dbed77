"""The engine: what it is opened with, and the order of its keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from entresol.storage.key_value import BLOCK_CACHE_BYTES, SCAN_STEP, KeyValueStore


@pytest.fixture
def engine(tmp_path: Path) -> KeyValueStore:
    return KeyValueStore(tmp_path / "database", durable=False, create=True)


def test_a_database_is_reopened_with_the_same_options(tmp_path: Path) -> None:
    # The binding takes them from the files otherwise, with a cache too small for an index.
    for create in (True, False):
        engine = KeyValueStore(tmp_path / "database", create=create)
        capacity = engine._db.property_value("rocksdb.block-cache-capacity")
        assert capacity == str(BLOCK_CACHE_BYTES)
        engine.close()


def test_neighbours_are_found_within_a_prefix(engine: KeyValueStore) -> None:
    engine.write([(key, key) for key in (b"a2", b"b1", b"b3", b"c0")])
    assert engine.last_at_most(b"b2", b"b") == (b"b1", b"b1")
    assert engine.last_at_most(b"b3", b"b") == (b"b3", b"b3")
    assert engine.last_at_most(b"b0", b"b") is None
    assert engine.first_at_least(b"b2", b"b") == (b"b3", b"b3")
    assert engine.first_at_least(b"b4", b"b") is None
    assert engine.first_at_least(b"d", b"d") is None
    assert engine.last_at_most(b"a1", b"a") is None


@pytest.mark.parametrize("count", [0, 1, SCAN_STEP - 1, SCAN_STEP, SCAN_STEP + 1, 3 * SCAN_STEP])
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
