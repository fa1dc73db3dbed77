"""Ordered key-value store on RocksDB: its options and cursors, and its errors as those of a store."""

from __future__ import annotations

import contextlib
import errno
import logging
import shutil
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from threading import Lock, get_ident
from time import perf_counter
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from rocksdict import (
    AccessType,
    BlockBasedOptions,
    Cache,
    DbClosedError,
    DBCompressionType,
    DBRecoveryMode,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
    WriteOptions,
)

from entresol.errors import EntresolError, StoreDamaged, StoreFailed, StoreFull, StoreLocked

if TYPE_CHECKING:
    from rocksdict import Rdict, RdictIter, WriteOptions


log = logging.getLogger(__name__)

# Small, because a process runs two chains and shares a laptop.
BLOCK_CACHE_BYTES: Final = 64 << 20
WRITE_BUFFER_BYTES: Final = 32 << 20
OPEN_FILES: Final = 256
BLOOM_BITS: Final = 10

Recovery: TypeAlias = Literal["stop", "reject", "skip"]
"""How to treat an unreadable part of the write-ahead log: stop there, as a torn last write requires; reject the
database; or skip the part."""

_RECOVERY: Final = {
    "stop": DBRecoveryMode.point_in_time,
    "reject": DBRecoveryMode.tolerate_corrupted_tail_records,
    "skip": DBRecoveryMode.skip_any_corrupted_record,
}


def database_options(*, create: bool, shared: bool, recovery: Recovery) -> Options:
    """Return the options of a database; with `shared`, other processes read it or write it."""
    options = Options(raw_mode=True)
    options.create_if_missing(create)
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    options.set_compression_type(DBCompressionType.lz4())
    # A secondary loses the tables that compactions delete, unless it has them open.
    options.set_max_open_files(-1 if shared else OPEN_FILES)
    options.set_keep_log_file_num(2)
    options.set_wal_recovery_mode(_RECOVERY[recovery]())
    table = BlockBasedOptions()
    table.set_bloom_filter(BLOOM_BITS, False)  # noqa: FBT003 - whole-file filters
    table.set_block_cache(Cache(BLOCK_CACHE_BYTES))
    table.set_cache_index_and_filter_blocks(True)
    options.set_block_based_table_factory(table)
    return options


def write_options(*, sync: bool, log: bool) -> WriteOptions:
    """Return the options of writes: whether they reach the disk at once, and the write-ahead log at all."""
    options = WriteOptions()
    options.sync = sync
    # A property at run time, although the binding's stub declares a method.
    options.disable_wal = not log  # type: ignore[method-assign,assignment]
    return options


def store_error(path: Path, error: Exception) -> Exception:
    """Return the store error for an error of the database in `path`; any other error as it is."""
    if isinstance(error, DbClosedError):
        return StoreFailed(f"the store in {path} is closed")
    # The binding raises bare exceptions, so only their text tells them apart.
    return _by_text(path, str(error)) if type(error) is Exception else error


def _by_text(path: Path, text: str) -> EntresolError:
    if (
        "No space left" in text
        or "Disk quota exceeded" in text
        or f"errno = {errno.ENOSPC}" in text
    ):
        return StoreFull(path)
    if "lock hold by current process" in text or "While lock file" in text:
        return StoreLocked(path)
    if text.startswith("Corruption") or "CURRENT" in text or "MANIFEST" in text:
        return StoreDamaged(path, text)
    return StoreFailed(f"the store in {path} failed: {text}")


class Cursors:
    """A cursor for each thread that reads; `forget` has to follow every write, and to come before closing."""

    def __init__(self, db: Rdict) -> None:
        self._db = db
        self._by_thread: dict[int, RdictIter] = {}

    def own(self) -> RdictIter:
        """Return the cursor of this thread; where it stands is undefined."""
        # First, so that a cursor which is made while another thread writes is forgotten with the others.
        by_thread, thread = self._by_thread, get_ident()
        cursor = by_thread.get(thread)
        if cursor is None:
            cursor = by_thread[thread] = self._db.iter()
        return cursor

    def forget(self) -> None:
        """Let the next reads see what was written."""
        self._by_thread = {}


class DamageReport:
    """The damage of a database, reported once, on any thread; a secondary tells the process that writes, which logs it."""

    def __init__(self, *, is_secondary: bool = False) -> None:
        self._is_secondary = is_secondary
        self.first: StoreDamaged | None = None
        """Why something could not be read; None if everything could."""

    def of(self, path: Path, error: Exception) -> Exception:
        """Return the store error for a read of the database in `path` that failed."""
        failure = store_error(path, error)
        # A closed database is not damaged, and what is not the database's is a bug.
        if isinstance(error, DbClosedError) or not isinstance(failure, EntresolError):
            return failure
        if not isinstance(failure, StoreDamaged):
            if self._is_secondary:
                # The process that writes may just have replaced the file.
                return failure
            failure = StoreDamaged(path, str(error))
        return self.note(failure)

    def note(self, damaged: StoreDamaged) -> StoreFailed:
        """Log the first failure with what to do, and return it."""
        is_first, self.first = self.first is None, self.first or damaged
        if is_first and not self._is_secondary:
            log.error(
                "%s. Requests that need it fail, and the rest is served. Stop the node, and run `entresol verify` on "
                "its directory: if it reads every block, `entresol rebuild` restores the rest; otherwise restore a "
                "copy that `entresol backup` made, or let a node of a cluster read its log again",
                damaged,
            )
        return damaged


SCAN_CHUNK: Final = 512

# Opening replays the write-ahead log into a new file, so it needs some space.
RECOVERY_FREE_BYTES: Final = 8 << 20

_LONGEST_KEY: Final = 128

Row: TypeAlias = tuple[bytes, bytes]
"""A key and its value."""

Contents: TypeAlias = WriteBatch
"""Everything in a store, as one write that replaces what is in another."""


class KeyValueStore:
    """Keys and values in one directory, sorted by key.

    With `shared`, other processes may open it by `secondary`, the directory of their own files: they read what was
    there when they last called `catch_up`, and write nothing. One thread writes; `sync` is for any. After a failed write
    RocksDB takes no other, so the next one opens the database again if there is space.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        path: Path,
        *,
        durable: bool = True,
        is_synced: bool = True,
        create: bool = False,
        read_only: bool = False,
        recovery: Recovery = "stop",
        shared: bool = False,
        secondary: Path | None = None,
    ) -> None:
        self._path = path
        self._durable = durable
        self._syncs = durable and is_synced
        self._recovery = recovery
        self.is_shared = shared
        self._secondary = secondary
        self._before_rewrite: tuple[Callable[[], None], ...] = ()
        self.rewrites = 0
        """Increases before and after what was written may change, other than by a new block."""
        self.failure: StoreFailed | None = None
        """Why the last write failed, if it did."""
        self.damage = DamageReport(is_secondary=secondary is not None)
        self._syncing = Lock()
        self.sync_seconds = 0.0
        """How long the last write that synced took."""
        self.along: list[Row] = []
        """Rows that the next write includes."""
        self._open(create=create, read_only=read_only)
        # A secondary reads what is only in memory here from the log.
        self._synced = write_options(sync=self._syncs, log=durable or shared)
        self._unsynced = write_options(sync=False, log=durable or shared)

    def _open(self, *, create: bool = False, read_only: bool = False) -> None:
        access = AccessType.read_only(False) if read_only else AccessType.read_write()  # noqa: FBT003
        if self._secondary is not None:
            access = AccessType.secondary(str(self._secondary))
        options = database_options(
            create=create,
            shared=self.is_shared or self._secondary is not None,
            recovery=self._recovery,
        )
        # Also given for the only column family: otherwise the binding loads the options of an existing
        # database from its files, with a cache of 8 MiB.
        families = {"default": options}
        try:
            self._db = Rdict(str(self._path), options, families, access)
        except Exception as error:
            raise store_error(self._path, error) from error
        self._cursors = Cursors(self._db)
        self._close_at_exit()

    def _close_at_exit(self) -> None:
        # Without this, a program that ends without closing would wait for RocksDB's threads.
        self._finalizer = weakref.finalize(self, _close_quietly, self._db, self._cursors)

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`."""
        try:
            value: bytes | None = self._db.get(key)
        except Exception as error:
            raise self.damage.of(self._path, error) from error
        return value

    def last_at_most(self, key: bytes, prefix: bytes) -> Row | None:
        """Return the last entry whose key is at most `key` and starts with `prefix`."""
        try:
            cursor = self._cursors.own()
            cursor.seek_for_prev(key)
            return _entry_at(cursor, prefix)
        except Exception as error:
            raise self.damage.of(self._path, error) from error

    def first_at_least(self, key: bytes, prefix: bytes) -> Row | None:
        """Return the first entry whose key is at least `key` and starts with `prefix`."""
        try:
            cursor = self._cursors.own()
            cursor.seek(key)
            return _entry_at(cursor, prefix)
        except Exception as error:
            raise self.damage.of(self._path, error) from error

    def read(self, start: bytes, prefix: bytes, count: int) -> list[Row]:
        """Return up to `count` entries from the key `start` on whose keys start with `prefix`."""
        try:
            return _entries_at(self._cursors.own(), start, prefix, count)
        except Exception as error:
            raise self.damage.of(self._path, error) from error

    def scan(self, prefix: bytes) -> Iterator[Row]:
        """Yield the entries of a prefix, holding no cursor between chunks: an abandoned scan must not keep the directory open."""
        start = prefix
        while chunk := self._read_chunk(prefix, start):
            yield from chunk
            start = chunk[-1][0] + b"\0"

    def write(
        self,
        puts: Iterable[Row],
        deletes: Iterable[bytes] = (),
        *,
        sync: bool = True,
        rewrites: bool = True,
    ) -> None:
        """Delete and put in one atomic write; without `sync` a power cut may undo it, without `rewrites` it only adds a block."""
        if rewrites:
            self._rewriting()
        try:
            self._write(_batch_of((), deletes), puts, self._synced if sync else self._unsynced)
        finally:
            self.rewrites += rewrites

    def prepared(self, puts: Iterable[Row], deletes: Iterable[bytes]) -> Contents:
        """Return what `write_prepared` writes; any thread may call it."""
        return _batch_of(puts, deletes)

    def write_prepared(self, prepared: Contents, puts: Iterable[Row], *, sync: bool) -> None:
        """Write what was prepared, which only adds a block, and more."""
        self._write(prepared, puts, self._synced if sync else self._unsynced)

    @property
    def sequence(self) -> int:
        """A number that every write increases."""
        return int(self._db.latest_sequence_number())

    @property
    def live_bytes(self) -> int:
        """About how many bytes it has."""
        names = ("rocksdb.estimate-live-data-size", "rocksdb.cur-size-all-mem-tables")
        return sum(self._db.property_int_value(name) or 0 for name in names)

    def contents(self) -> Contents:
        """Return everything in it, for the `replace` of another store; any thread may call it."""
        batch = WriteBatch(raw_mode=True)
        batch.delete_range(b"", b"\xff" * _LONGEST_KEY)
        for key, value in self.scan(b""):
            batch.put(key, value)
        return batch

    def replace(self, contents: Contents) -> None:
        """Replace everything by the contents of another store, in one atomic write."""
        self._rewriting()
        try:
            self._write(contents, (), self._synced)
        finally:
            self.rewrites += 1
        self.damage = DamageReport()

    def exchange(self, other: KeyValueStore) -> None:
        """Exchange everything with another store; both have the same options."""
        assert self._durable == other._durable
        self._path, other._path = other._path, self._path
        self._db, other._db = other._db, self._db
        self._cursors, other._cursors = other._cursors, self._cursors
        self.failure, other.failure = other.failure, self.failure
        self.damage, other.damage = other.damage, self.damage
        self.rewrites += 1
        other.rewrites += 1
        self._finalizer.detach()
        other._finalizer.detach()
        self._close_at_exit()
        other._close_at_exit()

    def before_rewrite(self, callback: Callable[[], None]) -> None:
        """Have `callback` called before a write that changes what was written before, and not only adds a block."""
        self._before_rewrite += (callback,)

    def _rewriting(self) -> None:
        self.rewrites += 1
        for callback in self._before_rewrite:
            callback()

    def _write(self, batch: WriteBatch, puts: Iterable[Row], options: WriteOptions) -> None:
        if self.failure is not None and not self.recover():
            raise self.failure
        for key, value in chain(puts, self.along):
            batch.put(key, value)
        started = perf_counter()
        try:
            self._db.write(batch, options)
        except Exception as error:
            raise self._failed_write(error) from error
        finally:
            self._cursors.forget()
        self.along = []
        if self._syncs and options is self._synced:
            self.sync_seconds = perf_counter() - started

    def sync(self) -> None:
        """Make what was written without `sync` survive a power cut; for any thread, as it releases the GIL."""
        if not self._syncs:
            return
        started = perf_counter()
        try:
            with self._syncing:
                self._db.flush_wal(sync=True)
        except Exception as error:
            raise self._failed_write(error) from error
        self.sync_seconds = perf_counter() - started

    def recover(self) -> bool:
        """Open the database again after a failed write, if there is space; return whether it takes writes.

        Without a write-ahead log this would lose what is only in memory, so such a store stays as it is. So does one
        that is damaged: the next write would meet the same.
        """
        if self.failure is None:
            return True
        if isinstance(self.failure, StoreDamaged):
            return False
        if not self._durable or shutil.disk_usage(self._path).free < RECOVERY_FREE_BYTES:
            return False
        with self._syncing:
            self._finalizer()
        try:
            self._open()
        except StoreFailed as error:
            self.failure = error
            self._open(read_only=True)
            return False
        self.failure = None
        log.warning("the store in %s takes writes again", self._path)
        return True

    def catch_up(self) -> None:
        """Let a secondary read all that was written until now."""
        try:
            self._db.try_catch_up_with_primary()
        except Exception as error:
            raise store_error(self._path, error) from error
        finally:
            self._cursors.forget()
            self.rewrites += 1

    def drop(self, prefix: bytes) -> None:
        """Delete every key with this one-byte prefix."""
        try:
            self._db.delete_range(prefix, bytes([prefix[0] + 1]), self._unsynced)
        except Exception as error:
            raise store_error(self._path, error) from error
        finally:
            self._cursors.forget()
            self.rewrites += 1

    def close(self) -> None:
        """Flush what is only in memory, and release the directory."""
        if self._finalizer.detach() is None:
            return
        self._cursors.forget()
        try:
            self._db.close()
        except Exception as error:
            raise store_error(self._path, error) from error

    def _read_chunk(self, prefix: bytes, start: bytes) -> list[Row]:
        options = ReadOptions()
        # A long scan must not evict hot blocks. (The stub lacks the argument.)
        options.fill_cache(False)  # type: ignore[call-arg]  # noqa: FBT003
        try:
            return _entries_at(self._db.iter(options), start, prefix, SCAN_CHUNK)
        except Exception as error:
            raise self.damage.of(self._path, error) from error

    def _failed_write(self, error: Exception) -> Exception:
        failure = store_error(self._path, error)
        if isinstance(failure, StoreFull):
            failure = StoreFull(self._path, recovers=self._durable)
        if isinstance(failure, StoreFailed):
            self.failure = failure
        return failure


def _batch_of(puts: Iterable[Row], deletes: Iterable[bytes]) -> Contents:
    batch = WriteBatch(raw_mode=True)
    for key in deletes:
        batch.delete(key)
    for key, value in puts:
        batch.put(key, value)
    return batch


def _close_quietly(db: Rdict, cursors: Cursors) -> None:
    cursors.forget()
    with contextlib.suppress(Exception):
        db.close()


def _entry_at(cursor: RdictIter, prefix: bytes) -> Row | None:
    """Return the entry at `cursor` if its key starts with `prefix`."""
    if not cursor.valid():
        # Either the end or unreadable data: `status` raises for the latter.
        cursor.status()
        return None
    key: bytes = cursor.key()
    return (key, cursor.value()) if key.startswith(prefix) else None


def _entries_at(cursor: RdictIter, start: bytes, prefix: bytes, count: int) -> list[Row]:
    """Return up to `count` entries from `start` on whose keys start with `prefix`."""
    found: list[Row] = []
    cursor.seek(start)
    while len(found) < count and (row := _entry_at(cursor, prefix)) is not None:
        found.append(row)
        cursor.next()
    return found
