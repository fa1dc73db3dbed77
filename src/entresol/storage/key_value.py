"""Ordered keys and values on disk, by RocksDB; nothing of it shows outside this module."""

from __future__ import annotations

import contextlib
import errno
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

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
    from rocksdict import RdictIter

# A process has two chains, and a laptop other things to do.
BLOCK_CACHE_BYTES: Final = 64 << 20
WRITE_BUFFER_BYTES: Final = 32 << 20
OPEN_FILES: Final = 256
BLOOM_BITS: Final = 10

SCAN_STEP: Final = 512

# What to do at a part of the write-ahead log that cannot be read: stop there, as a torn last write
# demands; reject; or go on behind it.
Recovery = Literal["stop", "reject", "skip"]
_RECOVERY: Final = {
    "stop": DBRecoveryMode.point_in_time,
    "reject": DBRecoveryMode.tolerate_corrupted_tail_records,
    "skip": DBRecoveryMode.skip_any_corrupted_record,
}


class KeyValueStore:
    """Keys and values in one directory, in the order of keys.

    Remembers: recently read blocks of its files. Persists: what `write` was given, all or nothing,
    and with `durable` so that a power cut does not undo it. Assumes: it is the only process in the
    directory. Fails: with a `StoreFailed` that says what to do.
    """

    def __init__(
        self,
        path: Path,
        *,
        durable: bool = True,
        create: bool = False,
        read_only: bool = False,
        recovery: Recovery = "stop",
    ) -> None:
        self._path = path
        access = AccessType.read_only(False) if read_only else AccessType.read_write()  # noqa: FBT003
        options = _options(create=create)
        options.set_wal_recovery_mode(_RECOVERY[recovery]())
        # Named for the one column family, too: otherwise the binding takes the options of a database that
        # exists from its files, and a cache of 8 MiB with them.
        families = {"default": options}
        try:
            self._db = Rdict(str(path), options, families, access)
        except Exception as error:
            raise self._failure(error) from error
        # A program that ends without closing would wait for the engine's own threads.
        self._forgotten = weakref.finalize(self, _close_quietly, self._db)
        self._waiting = _write_options(sync=durable, log=durable)
        self._hasty = _write_options(sync=False, log=durable)

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`."""
        try:
            value: bytes | None = self._db.get(key)
        except Exception as error:
            raise self._failure(error) from error
        return value

    def last_at_most(self, key: bytes, prefix: bytes) -> tuple[bytes, bytes] | None:
        """Return the last key that is not above `key` and has `prefix`, with its value."""
        try:
            cursor = self._db.iter()
            cursor.seek_for_prev(key)
            return _here(cursor, prefix)
        except Exception as error:
            raise self._failure(error) from error

    def first_at_least(self, key: bytes, prefix: bytes) -> tuple[bytes, bytes] | None:
        """Return the first key that is not below `key` and has `prefix`, with its value."""
        try:
            cursor = self._db.iter()
            cursor.seek(key)
            return _here(cursor, prefix)
        except Exception as error:
            raise self._failure(error) from error

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys that have `prefix`, with their values.

        An abandoned walk must not keep the directory, so it holds no cursor between two steps.
        """
        start = prefix
        while step := self._step(prefix, start):
            yield from step
            start = step[-1][0] + b"\0"

    def write(
        self,
        puts: Iterable[tuple[bytes, bytes]],
        deletes: Iterable[bytes] = (),
        *,
        wait: bool = True,
    ) -> None:
        """Delete and put, all or nothing.

        Without `wait` a power cut may undo it, until the next write that does wait.
        """
        batch = WriteBatch(raw_mode=True)
        for key in deletes:
            batch.delete(key)
        for key, value in puts:
            batch.put(key, value)
        try:
            self._db.write(batch, self._waiting if wait else self._hasty)
        except Exception as error:
            raise self._failure(error) from error

    def drop(self, prefix: bytes) -> None:
        """Delete every key that has this one-byte prefix."""
        try:
            self._db.delete_range(prefix, bytes([prefix[0] + 1]), self._hasty)
        except Exception as error:
            raise self._failure(error) from error

    def close(self) -> None:
        """Write down what is still in memory only, and let go of the directory."""
        if self._forgotten.detach() is None:
            return
        try:
            self._db.close()
        except Exception as error:
            raise self._failure(error) from error

    def _step(self, prefix: bytes, start: bytes) -> list[tuple[bytes, bytes]]:
        options = ReadOptions()
        # A long walk must not push out what is read again and again. (The stub forgets the argument.)
        options.fill_cache(False)  # type: ignore[call-arg]  # noqa: FBT003
        found: list[tuple[bytes, bytes]] = []
        try:
            cursor = self._db.iter(options)
            cursor.seek(start)
            while len(found) < SCAN_STEP and (row := _here(cursor, prefix)) is not None:
                found.append(row)
                cursor.next()
        except Exception as error:
            raise self._failure(error) from error
        return found

    def _failure(self, error: Exception) -> Exception:
        if isinstance(error, DbClosedError):
            return StoreFailed(f"the store in {self._path} is closed")
        # The binding raises bare exceptions, so their text is all there is to go by.
        return _failure(self._path, str(error)) if type(error) is Exception else error


def _close_quietly(db: Rdict) -> None:
    with contextlib.suppress(Exception):
        db.close()


def _here(cursor: RdictIter, prefix: bytes) -> tuple[bytes, bytes] | None:
    """Return key and value under `cursor` if the key has `prefix`."""
    if not cursor.valid():
        # At the end, or before something unreadable: only the status tells them apart.
        cursor.status()
        return None
    key: bytes = cursor.key()
    return (key, cursor.value()) if key.startswith(prefix) else None


def _failure(path: Path, text: str) -> EntresolError:
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


def _write_options(*, sync: bool, log: bool) -> WriteOptions:
    options = WriteOptions()
    options.sync = sync
    # A property at run time, whatever the binding's stub says.
    options.disable_wal = not log  # type: ignore[method-assign,assignment]
    return options


def _options(*, create: bool) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(create)
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_max_open_files(OPEN_FILES)
    options.set_keep_log_file_num(2)
    table = BlockBasedOptions()
    table.set_bloom_filter(BLOOM_BITS, False)  # noqa: FBT003 - whole-file filters
    table.set_block_cache(Cache(BLOCK_CACHE_BYTES))
    table.set_cache_index_and_filter_blocks(True)
    options.set_block_based_table_factory(table)
    return options
