"""One SQLite database with what a fork has read: its kinds of rows, and how people name a value.

The values of a block that is given by its hash never change, so a row is written once. Rows of the anchor have an empty
`block`: most rows are the anchor's.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypeAlias

import msgspec

from entresol._native import keccak256
from entresol.features.fork.errors import (
    ForkCacheConflict,
    ForkCacheDamaged,
    ForkCacheFailed,
    ForkCacheMismatch,
    ForkCacheUnusable,
)
from entresol.version import FORMAT

RowKey: TypeAlias = tuple[Any, ...]
"""Bytes, strings and integers, as the kind of the row says."""
RowValue: TypeAlias = tuple[bytes, ...]

ANCHOR: Final = b""
"""The `block` of rows of the anchor."""
EMPTY_CODE: Final = keccak256(b"")
ROW_BYTES: Final = 100
"""The bytes that a row takes beside its columns."""
MAX_NUMBER: Final = (1 << 63) - 1

APPLICATION_ID: Final = int.from_bytes(b"EnFk", "big")
"""Marks the file as a fork's cache, in the header that every SQLite file has."""

BUSY_SECONDS: Final = 30.0
"""How long another process may write before this one gives up."""

_IN_MEMORY: Final = ":memory:"
_SIDE_FILES: Final = ("-wal", "-shm")
_SQL_TYPES: Final = {bytes: "BLOB", str: "TEXT", int: "INTEGER"}
_RETRY_SECONDS: Final = 0.01


class Kind(NamedTuple):
    """A kind of row: its name, and the columns of its key and of its value, with their types."""

    name: str
    key: dict[str, type]
    value: dict[str, type]


class Row(NamedTuple):
    """A value with its key."""

    kind: str
    key: RowKey
    value: RowValue

    @property
    def size(self) -> int:
        """About how many bytes it takes: a slot has two hundred, a response may have megabytes."""
        return ROW_BYTES + sum(
            len(column) for column in (*self.key, *self.value) if not isinstance(column, int)
        )


KINDS: Final = {
    kind.name: kind
    for kind in (
        # Answers of the start may differ from one start to the next; the first ones stay.
        Kind("answer", {"name": str}, {"json": bytes}),
        Kind(
            "account",
            {"block": bytes, "address": bytes},
            {"nonce": bytes, "balance": bytes, "code_hash": bytes},
        ),
        Kind("code", {"hash": bytes}, {"code": bytes}),
        Kind("slot", {"block": bytes, "address": bytes, "slot": bytes}, {"value": bytes}),
        Kind("hash", {"number": int}, {"hash": bytes}),
        Kind("response", {"method": str, "params": bytes}, {"json": bytes}),
        # That nothing at or below the anchor is the response; a response that is there wins.
        Kind("absent", {"method": str, "params": bytes}, {}),
    )
}


class CachedAccount(NamedTuple):
    """An account of a remote chain at one block; an empty one is absent there."""

    nonce: int
    balance: int
    code: bytes


class Fork(msgspec.Struct, frozen=True):
    """The fork that a cache is of: a chain, and the number and hash of the block it stands on."""

    chain_id: int
    number: int
    hash: bytes

    def __str__(self) -> str:
        return f"chain {self.chain_id} at block {self.number} 0x{self.hash.hex()}"

    @property
    def name(self) -> str:
        """The name that people use on the command line, and that of its file."""
        return f"{self.chain_id}-{self.number}-{self.hash[:6].hex()}"


class StartAnswers(msgspec.Struct, frozen=True):
    """The answers that a fork needs before it starts: with these it needs no remote.

    `anchor` is the JSON of the block; `answers` are others by name, as the first start that was cached has got them.
    """

    fork: Fork
    anchor: bytes
    answers: dict[str, bytes] = {}


def big_endian(value: int) -> bytes:
    """Return an integer without leading zeros; SQLite's own end at 63 bits."""
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def name_of(kind: str, key: RowKey) -> str:
    """Return what people call a value: `slot 0x… of account 0x…`."""
    match kind, key:
        case "account", (bytes(block), bytes(address)):
            return f"account 0x{address.hex()}{_at(block)}"
        case "slot", (bytes(block), bytes(address), bytes(slot)):
            return f"slot 0x{slot.hex()} of account 0x{address.hex()}{_at(block)}"
        case "code", (bytes(code_hash),):
            return f"code with hash 0x{code_hash.hex()}"
        case "hash", (number,):
            return f"the hash of block {number}"
        case (("response" | "absent"), (method, bytes(params))):
            return f"the response to {method} {params.decode(errors='replace')[:300]}"
    return f"{kind} {' '.join(str(column) for column in key)}"


def text_of(value: RowValue) -> str:
    """Return a value for an error: short, in one line."""
    text = " ".join(
        column.decode(errors="replace")
        if column.startswith((b"{", b"[", b'"'))
        else f"0x{column.hex() or '0'}"
        for column in value
    )
    return text if len(text) <= 200 else f"{text[:200]}… ({len(text)} characters)"


def _at(block: bytes) -> str:
    return f" at block 0x{block.hex()}" if block else ""


class ForkDatabase:
    """The rows of one fork, in a file that several processes may have open, or in memory. Any thread.

    Power that fails may lose the last ones, and damages nothing (WAL, `synchronous=NORMAL`). Fails: `ForkCacheFailed`,
    which names the file.
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
    def open(cls, path: Path, fork: Fork | None = None) -> Self:
        """Open the file that is there, also where nothing can be written; of another fork than is given it is an error."""
        with _explained(path):
            connection = _connect(f"{path.absolute().as_uri()}?{_mode(path)}")
            try:
                return cls._opened(connection, path, fork)
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
                self._connection.executemany(_INSERT[kind], [row.key + row.value for row in group])
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
        return ForkCacheFailed(f"the fork cache {path} takes no more values: the disk is full")
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
    columns = ", ".join(
        f"{name} {_SQL_TYPES[column]}" for name, column in (kind.key | kind.value).items()
    )
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
