"""Damaged files: rejected unchanged, or read without wrong data."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from entresol.errors import StoreDamaged
from entresol.storage import tables
from entresol.storage.store import Store
from tests.support.chain.records import dump, files_of, fill, random_chain

BLOCKS = 200
CHAIN = random_chain(random.Random(4), BLOCKS)

Damage = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a chain as a killed process leaves it: half in tables, half in a log."""
    path = tmp_path_factory.mktemp("store")
    store = Store.open(path / "running")
    fill(store, CHAIN[: BLOCKS // 2])
    store._db._db.flush()
    fill(store, CHAIN[BLOCKS // 2 :])
    shutil.copytree(path / "running", path / "killed")
    store.close()
    return path / "killed"


@pytest.fixture
def copy(killed: Path, tmp_path: Path) -> Path:
    shutil.copytree(killed, tmp_path / "chain")
    return tmp_path / "chain"


def damage(store: Path, pattern: str, how: Damage) -> None:
    """Damage the one file of the database whose name matches."""
    (file,) = (store / "database").glob(pattern)
    file.write_bytes(how(file.read_bytes()))


def flipped(position: float) -> Damage:
    """Turn one byte, `position` being from 0 to 1."""

    def flip(content: bytes) -> bytes:
        at = int(len(content) * position)
        return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]

    return flip


def cut(position: float) -> Damage:
    return lambda content: content[: int(len(content) * position)]


@pytest.mark.parametrize(
    ("pattern", "how"),
    [
        ("CURRENT", cut(0)),
        ("CURRENT", flipped(0.5)),
        ("MANIFEST-*", cut(0.5)),
        ("MANIFEST-*", flipped(0.5)),
        ("*.sst", cut(0)),
        ("*.sst", flipped(0.999)),
        ("*.log", flipped(0)),
        ("*.log", flipped(0.5)),
    ],
)
def test_a_damaged_database_is_rejected_and_not_touched(
    copy: Path, pattern: str, how: Damage
) -> None:
    damage(copy, pattern, how)
    before = files_of(copy)
    with pytest.raises(StoreDamaged, match="restore it from a copy, or start anew") as caught:
        Store.open(copy)
    assert files_of(copy) == before
    assert "entresol-check" not in str(caught.value)


@pytest.mark.parametrize("pattern", ["CURRENT", "MANIFEST-*", "*.sst"])
def test_a_missing_file_is_damage(copy: Path, pattern: str) -> None:
    (file,) = (copy / "database").glob(pattern)
    file.unlink()
    before = files_of(copy)
    with pytest.raises(StoreDamaged):
        Store.open(copy)
    assert files_of(copy) == before


@pytest.mark.parametrize("pattern", ["IDENTITY", "OPTIONS-*", "rocksdict-config.json"])
def test_unused_files_may_be_lost(copy: Path, pattern: str) -> None:
    damage(copy, pattern, cut(0))
    store = Store.open(copy)
    assert list(store.records()) == CHAIN
    store.close()


@pytest.mark.parametrize("position", [0.9999, 0.995, 0.99])
def test_a_torn_last_write_is_as_if_it_had_not_been(copy: Path, position: float) -> None:
    damage(copy, "*.log", cut(position))
    store = Store.open(copy)
    assert store.head_number is not None
    assert BLOCKS - 10 < store.head_number < BLOCKS - 1
    assert list(store.records()) == CHAIN[: store.head_number + 1]
    reference = Store.temporary()
    fill(reference, CHAIN[: store.head_number + 1])
    assert dump(store) == dump(reference)
    fill(store, CHAIN[store.head_number + 1 :])
    assert store.head_number == BLOCKS - 1
    reference.close()
    store.close()


@pytest.mark.parametrize("seed", range(20))
def test_random_damage_never_reads_wrong_data(copy: Path, seed: int) -> None:
    randomness = random.Random(seed)
    names = [f for f in (copy / "database").iterdir() if f.name not in {"LOG", "LOCK"}]
    file = randomness.choice(sorted(names))
    content = bytearray(file.read_bytes())
    start = randomness.randrange(len(content))
    content[start : start + randomness.choice([1, 1, 50])] = b""
    file.write_bytes(content)
    before = files_of(copy)
    try:
        store = Store.open(copy)
    except StoreDamaged:
        assert files_of(copy) == before
        return
    assert store.head_number is not None
    for number in range(store.head_number + 1):
        try:
            assert store.get_record(number) == CHAIN[number]
        except StoreDamaged:
            break
    store.close()


def test_a_record_of_an_unknown_version_is_damage(store: Store) -> None:
    fill(store, CHAIN[:2])
    store._db.write([(tables.record_key(1), b"\x02")])
    with pytest.raises(StoreDamaged, match="block 1: a record of version 1 is expected, got 02"):
        store.get_record(1)
