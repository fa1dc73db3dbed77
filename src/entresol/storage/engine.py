"""Ordered keys and values on disk, by RocksDB; nothing of it shows outside this module."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from rocksdict import (
    AccessType,
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
    WriteOptions,
)

from entresol.errors import StoreDamaged, StoreFailed, StoreFull, StoreLocked

BLOCK_CACHE_BYTES: Final = 256 << 20
WRITE_BUFFER_BYTES: Final = 64 << 20
BLOOM_BITS: Final = 10


class Engine:
    """Keys and values in one directory, in the order of keys.

    Remembers: recently read blocks of its files. Persists: what `write` was given, all or nothing,
    and with `durable` so that a power cut does not undo it. Assumes: it is the only process in the
    directory. Fails: with a `StoreFailed` that says what to do.
    """

    def __init__(self, path: Path, *, durable: bool, create: bool) -> None:
        self._path = path
        try:
            self._db = Rdict(
                str(path), _options(create=create), access_type=AccessType.read_write()
            )
        except Exception as error:
            raise self._failure(error) from error
        self._write_options = WriteOptions()
        self._write_options.sync = durable
        # A property at run time, whatever the binding's stub says; likewise below.
        self._write_options.disable_wal = not durable  # type: ignore[method-assign,assignment]

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
            if not cursor.valid() or not (found := cursor.key()).startswith(prefix):
                return None
            return found, cursor.value()
        except Exception as error:
            raise self._failure(error) from error

    def first_at_least(self, key: bytes, prefix: bytes) -> tuple[bytes, bytes] | None:
        """Return the first key that is not below `key` and has `prefix`, with its value."""
        try:
            cursor = self._db.iter()
            cursor.seek(key)
            if not cursor.valid() or not (found := cursor.key()).startswith(prefix):
                return None
            return found, cursor.value()
        except Exception as error:
            raise self._failure(error) from error

    def scan(self, prefix: bytes, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys that have `prefix`, from `prefix + start` on, with their values."""
        options = ReadOptions()
        # A long walk must not push out what is read again and again.
        options.fill_cache(False)  # type: ignore[call-arg]  # noqa: FBT003
        try:
            cursor = self._db.iter(options)
            cursor.seek(prefix + start)
            while cursor.valid() and (key := cursor.key()).startswith(prefix):
                yield key, cursor.value()
                cursor.next()
        except Exception as error:
            raise self._failure(error) from error

    def write(self, puts: Iterable[tuple[bytes, bytes]], deletes: Iterable[bytes] = ()) -> None:
        """Delete and put, all or nothing."""
        batch = WriteBatch(raw_mode=True)
        for key in deletes:
            batch.delete(key)
        for key, value in puts:
            batch.put(key, value)
        try:
            self._db.write(batch, self._write_options)
        except Exception as error:
            raise self._failure(error) from error

    def drop(self, prefix: bytes) -> None:
        """Delete every key that has this one-byte prefix."""
        try:
            self._db.delete_range(prefix, bytes([prefix[0] + 1]))
        except Exception as error:
            raise self._failure(error) from error

    def close(self) -> None:
        """Let go of the directory."""
        self._db.close()

    def _failure(self, error: Exception) -> Exception:
        # The binding raises bare exceptions, so their text is all there is to go by.
        return _failure(self._path, str(error)) if type(error) is Exception else error


def _failure(path: Path, text: str) -> StoreFailed:
    if "No space left" in text or f"errno = {errno.ENOSPC}" in text:
        return StoreFull(path)
    if "lock" in text.lower() and "LOCK" in text:
        return StoreLocked(path)
    if text.startswith("Corruption") or "does not exist (create_if_missing is false)" in text:
        return StoreDamaged(path, text)
    return StoreFailed(f"the store in {path} failed: {text}")


def _options(*, create: bool) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(create)
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_max_open_files(512)
    options.set_keep_log_file_num(2)
    table = BlockBasedOptions()
    table.set_bloom_filter(BLOOM_BITS, False)  # noqa: FBT003 - whole-file filters
    table.set_block_cache(Cache(BLOCK_CACHE_BYTES))
    table.set_cache_index_and_filter_blocks(True)
    options.set_block_based_table_factory(table)
    return options
