"""Rows are written by a thread, in few transactions."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from entresol.errors import ForkCacheFailed
from entresol.features.fork.cache import row_writer
from entresol.features.fork.cache.fork_database import Row
from entresol.features.fork.cache.row_writer import RowWriter
from tests.support.polling import PATIENCE_SECONDS


class Transactions:
    """Notes what is written together."""

    def __init__(self) -> None:
        self.rows: list[list[Row]] = []
        self.written = threading.Event()

    def write(self, rows: Sequence[Row]) -> None:
        self.rows.append(list(rows))
        self.written.set()


def row(number: int) -> Row:
    return Row("hash", (number,), (number.to_bytes(32),))


def test_rows_that_come_one_after_the_other_are_written_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a chain of reads brings them: a transaction for each would hold up the next read."""
    monkeypatch.setattr(row_writer, "COLLECT_SECONDS", 3_600.0)
    done = Transactions()
    rows = RowWriter(done.write, print)
    for number in range(200):
        rows.put([row(number)])
        assert rows.get("hash", (number,)) == row(number).value
    assert not done.rows
    rows.flush()
    rows.close()
    assert [len(it) for it in done.rows] == [200]


def test_rows_are_written_without_anybody_asking_for_it() -> None:
    done = Transactions()
    rows = RowWriter(done.write, print)
    rows.put([row(1)])
    assert done.written.wait(PATIENCE_SECONDS)
    rows.close()
    assert done.rows == [[row(1)]]


def test_a_thread_that_dies_is_an_error_for_whoever_flushes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As it was: its exception ended the thread, and a flush waited for it for ever."""

    def write(_: Sequence[Row]) -> None:
        raise FileNotFoundError("gone")

    rows = RowWriter(write, print)
    rows.put([row(1)])
    for _ in range(2):
        flush = threading.Thread(target=rows.flush, daemon=True)
        flush.start()
        flush.join(PATIENCE_SECONDS)
        assert not flush.is_alive()
        assert "FileNotFoundError('gone')" in str(rows.problem)
    rows.close()
    assert "is not written any more" in caplog.text


def test_what_waits_for_a_full_disk_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was: 100,000 rows of any length, and a response may have megabytes."""
    monkeypatch.setattr(row_writer, "MAX_BYTES", 10 * row(0).size)
    monkeypatch.setattr(row_writer, "RETRY_SECONDS", 3_600.0)
    is_full, done = True, Transactions()

    def write(rows: Sequence[Row]) -> None:
        if is_full:
            raise ForkCacheFailed("the disk is full")
        done.write(rows)

    rows = RowWriter(write, lambda _: None)
    for number in range(8):
        rows.put([row(number)])
    rows.flush()
    long = Row("response", ("eth_getLogs", b"[]"), (bytes(3 * row(0).size),))
    rows.put([long, row(8), row(9), row(10)])
    assert rows.get(long.kind, long.key) is None
    assert [rows.get("hash", (it,)) is not None for it in range(7, 11)] == [True, True, True, False]
    is_full = False
    rows.flush()
    rows.put([long])
    assert rows.get(long.kind, long.key) == long.value
    rows.close()
    assert sum(map(len, done.rows)) == 11
