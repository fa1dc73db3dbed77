"""One SQLite database with what a fork has read."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, Self

from entresol.errors import (
    ForkCacheConflict,
    ForkCacheDamaged,
    ForkCacheFailed,
    ForkCacheFull,
    ForkCacheMismatch,
    ForkCacheUnusable,
)
from entresol.fork.cache.rows import KINDS, Fork, Kind, Row, RowKey, RowValue, name_of, text_of
from entresol.version import FORMAT

APPLICATION_ID: Final = int.from_bytes(b"EnFk", "big")
"""Marks the file as a fork's cache, in the header that every SQLite file has."""

BUSY_SECONDS: Final = 30.0
"""How long another process may write before this one gives up."""

_IN_MEMORY: Final = ":memory:"
_SIDE_FILES: Final = ("-wal", "-shm")
_SQL_TYPES: Final = {bytes: "BLOB", str: "TEXT", int: "INTEGER"}
_RETRY_SECONDS: Final = 0.01


class ForkDatabase:
    """The rows of one fork, in a file that several processes may have open, or in memory. Any thread.

    Persists: every row, in the transaction of `insert`; a process that is killed loses only transactions that it has
    not finished. Power that fails may lose the last ones, and damages nothing (WAL, `synchronous=NORMAL`).
    Fails: `ForkCacheFailed`, which names the file.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path | None, fork: Fork) -> None:
        self.path = path
        self.fork = fork
        self._connection = connection
        self._lock = threading.Lock()

    @classmethod
    def create(cls, path: Path, fork: Fork) -> Self:
        """Open the file of a fork, which is created if it is missing."""
        with _explained(path):
            connection = _connect(f"{path.absolute().as_uri()}?mode=rwc")
            try:
                _switch_to_wal(connection)
                _create_tables(connection, fork)
                return cls._opened(connection, path, fork)
            except BaseException:
                connection.close()
                raise

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the file of a fork that is there, also where nothing can be written."""
        with _explained(path):
            connection = _connect(f"{path.absolute().as_uri()}?{_mode(path)}")
            try:
                return cls._opened(connection, path, None)
            except BaseException:
                connection.close()
                raise

    @classmethod
    def memory(cls, fork: Fork) -> Self:
        """Return an empty database in memory."""
        connection = _connect(_IN_MEMORY)
        _create_tables(connection, fork)
        return cls(connection, None, fork)

    @classmethod
    def _opened(cls, connection: sqlite3.Connection, path: Path, expected: Fork | None) -> Self:
        _check_format(connection, path)
        fork = _fork_of(connection, path)
        if expected is not None and fork != expected:
            raise ForkCacheMismatch(path, str(fork), str(expected))
        return cls(connection, path, fork)

    def get(self, kind: str, keys: Sequence[RowKey]) -> dict[RowKey, RowValue]:
        """Return the values of those keys that are there."""
        found: dict[RowKey, RowValue] = {}
        if kind not in KINDS:
            return found
        query, width = _SELECT[kind], len(KINDS[kind].value)
        with self._lock, _explained(self.path):
            for key in keys:
                row = self._connection.execute(query, key).fetchone()
                if row is not None:
                    found[key] = row[:width]
        return found

    def insert(self, rows: Sequence[Row]) -> None:
        """Write rows in one transaction; one that is there with another value raises a `ForkCacheConflict`."""
        by_kind: dict[str, list[Row]] = {}
        for row in rows:
            by_kind.setdefault(row.kind, []).append(row)
        with self._lock, _explained(self.path), _transaction(self._connection):
            for kind, group in by_kind.items():
                before = self._connection.total_changes
                self._connection.executemany(_INSERT[kind], [it.key + it.value for it in group])
                written = self._connection.total_changes - before
                if kind != "answer" and written < len(group):
                    self._compare(kind, group)

    def rows(self, *names: str) -> Iterator[Row]:
        """Iterate over everything, or over some kinds, each in the order of its keys."""
        for kind in KINDS.values():
            if names and kind.name not in names:
                continue
            width = len(kind.key)
            with self._lock, _explained(self.path):
                cursor = self._connection.execute(_select_all(kind))
            while True:
                with self._lock, _explained(self.path):
                    found = cursor.fetchmany(1_000)
                if not found:
                    break
                for row in found:
                    yield Row(kind.name, row[:width], row[width:])

    def counts(self) -> dict[str, int]:
        """Return how many rows there are of each kind."""
        with self._lock, _explained(self.path):
            return {
                name: self._connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608
                for name in KINDS
            }

    def is_empty(self) -> bool:
        """Return whether there is no row."""
        return not any(self.counts().values())

    def close(self) -> None:
        """Close the file; the last process that does so folds the log into it."""
        with self._lock:
            self._connection.close()

    def _compare(self, kind: str, group: Sequence[Row]) -> None:
        """Raise an error if a row is there with another value."""
        for row in group:
            found = self._connection.execute(_SELECT[kind], row.key).fetchone()
            if found[: len(row.value)] != row.value:
                raise ForkCacheConflict(name_of(kind, row.key), text_of(found), text_of(row.value))


def read_fork(path: Path) -> Fork:
    """Return which fork a file is of, or raise a `ForkCacheFailed`."""
    with closing(ForkDatabase.open(path)) as database:
        return database.fork


def files_of(path: Path) -> tuple[Path, ...]:
    """Return the files of a database, in the order in which they can be deleted.

    The log goes first: beside a new file of the same name it would be applied to it.
    """
    return (*(path.with_name(path.name + end) for end in _SIDE_FILES), path)


def size_of(file: Path) -> int:
    """Return how long a file is; one that is not there, or that another process has just deleted, is empty."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _connect(uri: str) -> sqlite3.Connection:
    # A lock lets one thread use it at a time.
    connection = sqlite3.connect(
        uri,
        uri=uri != _IN_MEMORY,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _mode(path: Path) -> str:
    if os.access(path.parent, os.W_OK) and os.access(path, os.W_OK):
        return "mode=rw"
    # SQLite writes beside a file even to read it, unless nothing can change it.
    wal = files_of(path)[0]
    return "mode=ro" if size_of(wal) else "mode=ro&immutable=1"


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Let readers and one writer work at the same time, which SQLite's own waiting does not cover."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return


def _create_tables(connection: sqlite3.Connection, fork: Fork) -> None:
    """Create the tables of a new file."""
    # Nothing is added to a file of another program.
    if _tables(connection):
        return
    with _transaction(connection):
        # Another process may have been faster.
        if not _tables(connection):
            _create_fork(connection, fork)
            for kind in KINDS.values():
                connection.execute(_create(kind))


def _create_fork(connection: sqlite3.Connection, fork: Fork) -> None:
    """Say in a new file what it is."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("CREATE TABLE fork (chain_id TEXT, number INTEGER, hash BLOB)")
    connection.execute(
        "INSERT INTO fork VALUES (?, ?, ?)", (str(fork.chain_id), fork.number, fork.hash)
    )


def _tables(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in rows}


def _is_marked(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID)


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    if not _is_marked(connection):
        raise ForkCacheDamaged(path, "it is not a fork's cache")
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found != FORMAT:
        raise ForkCacheFailed(
            f"the fork cache {path} has format {found}, and this version reads format {FORMAT} alone: remove it"
        )


def _fork_of(connection: sqlite3.Connection, path: Path) -> Fork:
    match connection.execute("SELECT chain_id, number, hash FROM fork").fetchall():
        case [(str(chain_id), int(number), bytes(block_hash))] if chain_id.isdecimal():
            return Fork(int(chain_id), number, block_hash)
    raise ForkCacheDamaged(path, "it does not say which fork it is of")


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite has rolled back itself after some failures.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _explained(path: Path | None) -> Iterator[None]:
    """Raise errors of SQLite as what they mean for the cache."""
    try:
        yield
    except sqlite3.Error as error:
        raise _failure(path or Path(_IN_MEMORY), error) from error


def _failure(path: Path, error: sqlite3.Error) -> ForkCacheFailed:
    # Extended codes have details in their upper bytes.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return ForkCacheFull(path, "the disk is full")
    if code == sqlite3.SQLITE_BUSY:
        return ForkCacheUnusable(
            path, f"another process has written for {BUSY_SECONDS:.0f} seconds"
        )
    if code in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
        return ForkCacheUnusable(path, f"{error}; is the directory there, and may it be written?")
    if isinstance(error, sqlite3.OperationalError) and code == sqlite3.SQLITE_IOERR:
        return ForkCacheUnusable(path, str(error))
    return ForkCacheDamaged(path, str(error))


def _create(kind: Kind) -> str:
    columns = ", ".join(f"{name} {_SQL_TYPES[it]}" for name, it in (kind.key | kind.value).items())
    # A long value would fill the pages of a tree that has no row ids.
    clustered = "" if "code" in kind.value or "json" in kind.value else " WITHOUT ROWID"
    return f"CREATE TABLE IF NOT EXISTS {kind.name} ({columns}, PRIMARY KEY ({', '.join(kind.key)})){clustered}"


def _select(kind: Kind) -> str:
    condition = " AND ".join(f"{name} = ?" for name in kind.key)
    return f"SELECT {', '.join(kind.value) or '1'} FROM {kind.name} WHERE {condition}"  # noqa: S608


def _insert(kind: Kind) -> str:
    marks = ", ".join("?" for _ in (*kind.key, *kind.value))
    return f"INSERT OR IGNORE INTO {kind.name} VALUES ({marks})"  # noqa: S608


def _select_all(kind: Kind) -> str:
    return f"SELECT * FROM {kind.name} ORDER BY {', '.join(kind.key)}"  # noqa: S608


_SELECT: Final = {name: _select(kind) for name, kind in KINDS.items()}
_INSERT: Final = {name: _insert(kind) for name, kind in KINDS.items()}
