"""Options of RocksDB: caches, compression, and what survives a crash."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from rocksdict import (
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    DBRecoveryMode,
    Options,
    WriteOptions,
)

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
