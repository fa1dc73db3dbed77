"""The store of one chain: block records, and the tables derived from them."""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Self

from entresol._native import Account, keccak256
from entresol.errors import (
    MalformedValue,
    RebuildInterrupted,
    StoreDamaged,
    StoreFailed,
    UnknownBlock,
    WrongParent,
)
from entresol.primitives.headers import Header
from entresol.primitives.records import BlockRecord
from entresol.primitives.values import Hash32
from entresol.storage import recovery, tables
from entresol.storage.batch_table import BatchTable
from entresol.storage.block_rows import contents_keys_of, rows_of
from entresol.storage.directory import Directory
from entresol.storage.genesis_table import GenesisTable
from entresol.storage.key_value import Contents, KeyValueStore
from entresol.storage.loaded_history import LoadedHistory
from entresol.storage.log_index import LogQuery, candidates
from entresol.storage.nonempty_blocks import NonEmptyBlocks, has_contents
from entresol.storage.price_table import Prices, PriceTable
from entresol.storage.published_bytecodes import as_published
from entresol.storage.readers import TransactionLocation
from entresol.storage.record_cache import RecordCache
from entresol.storage.replication.position import PositionTable
from entresol.storage.state_keys import StateKeys


class Store:
    """A chain's block records and the tables derived from them.

    Remembers: the number of the last block, and recently read records. Persists: each appended record
    with its derived rows, in one atomic write. Assumes: one writer, which appends blocks in order;
    readers on any thread. Fails: with a `StoreFailed`; acknowledged blocks stay.
    """

    def __init__(self, directory: Directory, db: KeyValueStore) -> None:
        self._db = db
        self._directory = directory
        self.record_cache = RecordCache()
        self.genesis = GenesisTable(db)
        self.batches = BatchTable(db)
        self.prices = PriceTable(db)
        self.state_keys = StateKeys(db)
        self.position = PositionTable(db)
        self.loaded = LoadedHistory(db)
        head = db.get(tables.HEAD)
        self.head_number = None if head is None else int.from_bytes(head)
        """The number of the last block, or None before genesis."""
        self.nonempty = NonEmptyBlocks(self.head_number, self.first_number)
        # The block that is written, but not the head yet.
        self._next: BlockRecord | None = None
        self._contents: Contents | None = None

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        durable: bool = True,
        is_synced: bool = True,
        rebuilding: bool = False,
        shared: bool = False,
    ) -> Self:
        """Open the chain in the directory `path`, which is created if it is missing.

        Without `is_synced` a power cut may undo the last writes: something else restores them. With `shared`, other
        processes may read it (`SecondaryStore`).

        With `rebuilding`, also a chain whose last rebuild was interrupted; only its records can be read
        before `rebuild` completes.
        """
        return cls._in(
            Directory.open(path),
            durable=durable,
            is_synced=is_synced,
            rebuilding=rebuilding,
            shared=shared,
        )

    @classmethod
    def temporary(cls, *, shared: bool = False) -> Self:
        """Create an empty chain that is deleted when it is closed."""
        return cls._in(
            Directory.temporary(), durable=False, is_synced=False, rebuilding=False, shared=shared
        )

    @classmethod
    def _in(
        cls,
        directory: Directory,
        *,
        durable: bool,
        is_synced: bool,
        rebuilding: bool,
        shared: bool,
    ) -> Self:
        with contextlib.ExitStack() as undo:
            undo.callback(directory.close)
            if not directory.is_new:
                recovery.check(directory.database)
            db = KeyValueStore(
                directory.database,
                durable=durable,
                is_synced=is_synced,
                create=directory.is_new,
                shared=shared,
            )
            undo.callback(db.close)
            directory.finish()
            if db.get(tables.REBUILDING) is not None and not rebuilding:
                raise RebuildInterrupted(directory.path)
            store = cls(directory, db)
            undo.pop_all()
        return store

    @property
    def path(self) -> Path:
        """The data directory of the chain."""
        return self._directory.path

    @property
    def first_number(self) -> int:
        """The number of the genesis block."""
        return self.genesis.number

    @property
    def sync_seconds(self) -> float:
        """How long the last durable write took to reach the disk."""
        return self._db.sync_seconds

    @property
    def failure(self) -> StoreFailed | None:
        """Why the last write failed; None if it succeeded."""
        return self._db.failure

    def before_rewrite(self, callback: Callable[[], None]) -> None:
        """Have `callback` called before each write that changes what readers of earlier blocks see."""
        self._db.before_rewrite = callback

    def recover(self) -> bool:
        """Try to make a store usable whose last write failed; return whether it takes writes."""
        return self._db.recover()

    def close(self) -> None:
        """Close the database and release the directory."""
        try:
            self._db.close()
        finally:
            self._directory.close()

    # Blocks

    def get_record(self, number: int) -> BlockRecord | None:
        """Return the record of a block, or None if there is no such block."""
        return self.record_cache.get(number, self._read_record)

    def stored_record(self, number: int) -> bytes | None:
        """Return the record of a block as it is stored, or None if there is no such block."""
        return self._db.get(tables.record_key(number)) if self._has(number) else None

    def record(self, number: int) -> BlockRecord:
        """Return the record of a block; raise `UnknownBlock` if there is none."""
        record = self.get_record(number)
        if record is None:
            raise UnknownBlock(number)
        return record

    def header(self, number: int) -> Header:
        """Return the header of a block; raise `UnknownBlock` if there is none."""
        return self.record(number).header()

    def records(self, first: int = 0) -> Iterator[BlockRecord]:
        """Yield the records from block `first` on."""
        number = max(first, self.first_number)
        while (record := self._read_record(number)) is not None:
            yield record
            number += 1

    def block_number(self, block_hash: bytes) -> int | None:
        """Return the number of the block with this hash."""
        row = self._db.get(tables.NUMBER_OF_HASH + block_hash)
        if row is None:
            return None
        number = int.from_bytes(row)
        # The rows of reverted blocks stay until others overwrite them.
        return number if self.block_hash(number) == block_hash else None

    def block_hash(self, number: int) -> Hash32 | None:
        """Return the hash of a block."""
        row = self._hash_row(number) if self._has(number) else None
        return None if row is None else Hash32(row)

    def locate_transaction(self, transaction_hash: bytes) -> TransactionLocation | None:
        """Return the newest location of the transaction with this hash."""
        return self._location(tables.TRANSACTION_LOCATION + transaction_hash)

    def hash_by_nonce(self, sender: bytes, nonce: int) -> Hash32 | None:
        """Return the hash of the last transaction by which `sender` used `nonce`."""
        found = self._last(tables.HASH_OF_NONCE + sender + tables.number(nonce))
        return None if found is None else Hash32(found[1])

    def next_priority_id(self) -> int:
        """Return the id that follows the last priority transaction's."""
        found = self._db.last_at_most(tables.PRIORITY + tables.LAST_NUMBER * 2, tables.PRIORITY)
        if found is None:
            return 0
        following = int.from_bytes(found[0][1 : 1 + tables.NUMBER_SIZE]) + 1
        if self._has(tables.block_of(found[0])):
            return following
        # It is of a reverted block; ids follow each other from block to block.
        return bisect_left(range(following), 1, key=lambda it: self.locate_priority(it) is None)

    def locate_priority(self, priority_id: int) -> TransactionLocation | None:
        """Return the location of the priority transaction with this id."""
        return self._location(tables.PRIORITY + tables.number(priority_id))

    def blocks_with_logs(
        self, query: LogQuery, first: int, last: int, *, newest_first: bool = False
    ) -> Iterator[int]:
        """Yield the blocks from `first` to `last` that may have a log of `query`."""
        return candidates(self._db, query, first, last, newest_first=newest_first)

    # State

    def account(self, address: bytes, number: int) -> Account | None:
        """Return an account as of block `number`."""
        prefix = tables.ACCOUNT + address
        found = self._db.last_at_most(prefix + tables.number(number), prefix)
        return None if found is None else tables.unpack_account(found[1])

    def slot(self, address: bytes, slot: bytes, number: int) -> bytes:
        """Return a slot's value as of block `number`, big-endian without leading zeros."""
        prefix = tables.SLOT + address + slot
        found = self._db.last_at_most(prefix + tables.number(number), prefix)
        return b"" if found is None else found[1]

    def code(self, code_hash: bytes) -> bytes | None:
        """Return the code with this hash."""
        return self._db.get(tables.CODE + code_hash)

    def bytecode(self, name: bytes) -> bytes | None:
        """Return the bytecode that a sealed block published under the hash `name`."""
        found = self._last(tables.PUBLISHED + name)
        code = None if found is None else self.code(found[1])
        return None if code is None else as_published(name, code)

    def node(self, node_hash: bytes) -> bytes | None:
        """Return the trie node with this hash."""
        return self._db.get(tables.NODE + node_hash)

    # Writing

    def init_genesis(
        self,
        record: BlockRecord,
        nodes: Iterable[tuple[bytes, bytes]],
        identity: bytes,
        chain_id: int,
    ) -> None:
        """Add the genesis block to an empty store, with the hash that identifies the genesis and the chain id."""
        number = record.header().number
        if self.head_number is not None:
            raise WrongParent(number, self.head_number)
        self.genesis.number = number
        self.nonempty.reset(None, number)
        self._append(record, nodes, self.genesis.rows_of(identity, chain_id, number))

    def append(
        self,
        record: BlockRecord,
        nodes: Iterable[tuple[bytes, bytes]],
        prices: Prices | None = None,
    ) -> None:
        """Add the next block with its new trie nodes and its prices, in one durable write."""
        self._append(record, nodes, self.prices.rows_of(self._next_number, prices))

    def write_next(
        self,
        record: BlockRecord,
        nodes: Iterable[tuple[bytes, bytes]],
        prices: Prices | None = None,
    ) -> None:
        """Write what `append` does, but show nothing of it: `sync` makes it durable, and `show_next` the head.

        Nothing else may change blocks until then. If `sync` fails, the next block takes its place.
        """
        # Processes that share the store see what is written at once, so there it is durable at once.
        sync = self._db.is_shared
        self._write(record, nodes, self.prices.rows_of(self._next_number, prices), sync=sync)
        self._next = record

    def sync(self) -> None:
        """Make what was written durable; for any thread."""
        self._db.sync()

    def show_next(self) -> None:
        """Make the block that `write_next` wrote the head, once it is durable."""
        assert self._next is not None
        assert self.head_number is not None
        self._show(self.head_number + 1, self._next)
        self._next = None

    def unwind(self, number: int) -> None:
        """Revert to block `number`, and delete the batches that have a block above it, in one write.

        Everything else of the blocks above stays, unread, until another block overwrites it: so the time does not
        depend on what they contain. Trie nodes and codes stay for good, since other blocks may share them. The head
        of a temporary store that no other process reads is in memory only, until the next block.
        """
        head = self.head_number
        if head is None or number >= head:
            return
        last = self.batches.last()
        has_later = last is not None and last.last_block > number
        deleted = list(self.batches.keys_above(number)) if has_later else []
        # The head first, so that no reader sees a head without its block.
        self.head_number = number
        if deleted or self._db.is_shared or not self._directory.is_temporary:
            try:
                self._db.write([(tables.HEAD, tables.number(number))], deleted)
            except BaseException:
                self.head_number = head
                raise
        self.record_cache.evict_above(number)
        self.nonempty.remove_above(number)
        if deleted:
            self.batches.refresh()

    def nonempty_above(self, number: int) -> Iterator[BlockRecord]:
        """Yield the records of the blocks above `number` that have contents, in order."""
        return filter(has_contents, map(self.record, self.nonempty.above(number)))

    def prepare_replace(self, source: Store) -> None:
        """Read what `replace` writes, which takes longer than to write it; any thread may call it."""
        if not self._exchanges_with(source):
            source._contents = source._db.contents()

    def replace(self, source: Store) -> None:
        """Replace the whole chain by that of another store, which is not used any more.

        That is one durable write. Two temporary stores only exchange their files, unless others read them.
        """
        if self._exchanges_with(source):
            self._directory, source._directory = source._directory, self._directory
            self._db.exchange(source._db)
            self.head_number, source.head_number = source.head_number, self.head_number
        else:
            head, self.head_number = self.head_number, source.head_number
            try:
                contents = source._contents
                self._db.replace(source._db.contents() if contents is None else contents)
            except BaseException:
                self.head_number = head
                raise
        self.record_cache.evict_above(-1)
        self.genesis.refresh()
        self.nonempty.reset(self.head_number, self.first_number)
        self.loaded.refresh()
        self.batches.refresh()
        self.prices.refresh()

    def rebuild(
        self,
        nodes_of: Callable[[BlockRecord], Iterable[tuple[bytes, bytes]]],
        progress: Callable[[int, int], None] = lambda _done, _all: None,
    ) -> None:
        """Rebuild the derived tables from the records; there must be no readers meanwhile.

        After an interruption the store can only be opened to rebuild it again.
        """
        self._db.write([(tables.REBUILDING, b"")])
        for table in tables.DERIVED:
            self._db.drop(table)
        first = self.first_number
        total = 0 if self.head_number is None else self.head_number + 1 - first
        for done, record in enumerate(self.records()):
            rows = rows_of(self._db, record, first + done, nodes_of(record))
            self._db.write(rows, sync=False)
            progress(done + 1, total)
        self._db.write([], [tables.REBUILDING])

    def _exchanges_with(self, source: Store) -> bool:
        is_temporary = self._directory.is_temporary and source._directory.is_temporary
        return is_temporary and not self._db.is_shared

    @property
    def _next_number(self) -> int:
        return self.first_number if self.head_number is None else self.head_number + 1

    def _append(
        self,
        record: BlockRecord,
        nodes: Iterable[tuple[bytes, bytes]],
        marks: list[tuple[bytes, bytes]],
    ) -> None:
        self._show(self._write(record, nodes, marks, sync=True), record)

    def _write(
        self,
        record: BlockRecord,
        nodes: Iterable[tuple[bytes, bytes]],
        marks: list[tuple[bytes, bytes]],
        *,
        sync: bool,
    ) -> int:
        """Write a block, and return its number."""
        header = record.header()
        if not self._continues(header.number, header.parent_hash):
            raise WrongParent(header.number, self.head_number)
        rows = [
            *marks,
            (tables.record_key(header.number), record.encode()),
            (tables.HEAD, tables.number(header.number)),
            *rows_of(self._db, record, header.number, nodes),
        ]
        self._db.write(rows, self._left_by_reverted(header.number), sync=sync, rewrites=False)
        return header.number

    def _show(self, number: int, record: BlockRecord) -> None:
        self.nonempty.add(number, record)
        self.head_number = number

    def _continues(self, number: int, parent_hash: bytes) -> bool:
        is_child = self.head_number is None or self.block_hash(self.head_number) == parent_hash
        return number == self._next_number and is_child

    def _left_by_reverted(self, number: int) -> list[bytes]:
        """Return the keys that a reverted block with this number has left."""
        record = self._decoded(number)
        if record is None:
            return []
        key = tables.number(number)
        # Searches skip deleted rows one by one, so nothing is deleted that is not there.
        others = [
            it
            for it in (tables.PRICES + key, tables.BATCH_POSITION + key)
            if self._db.get(it) is not None
        ]
        block_hash = keccak256(record.header_rlp)
        contents = contents_keys_of(self._db, record, number)
        return [tables.NUMBER_OF_HASH + block_hash, *others, *contents]

    def _last(self, prefix: bytes) -> tuple[bytes, bytes] | None:
        """Return the last row of a history; blocks above the head are reverted."""
        head = 0 if self.head_number is None else self.head_number
        return self._db.last_at_most(prefix + tables.number(head), prefix)

    def _location(self, prefix: bytes) -> TransactionLocation | None:
        if (found := self._last(prefix)) is None:
            return None
        return TransactionLocation(tables.block_of(found[0]), int.from_bytes(found[1]))

    def _has(self, number: int) -> bool:
        return self.head_number is not None and self.first_number <= number <= self.head_number

    def _hash_row(self, number: int) -> bytes | None:
        return self._db.get(tables.HASH_OF_NUMBER + tables.number(number))

    def _read_record(self, number: int) -> BlockRecord | None:
        return self._decoded(number) if self._has(number) else None

    def encoded_record(self, number: int) -> bytes:
        """Return the record of a block as it is stored."""
        data = self._db.get(tables.record_key(number)) if self._has(number) else None
        if data is None:
            raise UnknownBlock(number)
        return data

    def _decoded(self, number: int) -> BlockRecord | None:
        data = self._db.get(tables.record_key(number))
        try:
            return None if data is None else BlockRecord.decode(data)
        except MalformedValue as error:
            raise StoreDamaged(self.path, f"block {number}: {error}") from error
