"""Files that turn out to be damaged while a database is read."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from entresol.errors import StoreDamaged, StoreFailed
from entresol.storage.database.key_value import DamageReport, KeyValueStore

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
