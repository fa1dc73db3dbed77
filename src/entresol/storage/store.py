"""The store of one chain: write block records, and the tables derived from them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Self

from entresol.errors import MalformedValue, StoreDamaged, StoreFailed, WrongParent
from entresol.primitives.anchor import Anchor
from entresol.primitives.records import BlockRecord
from entresol.storage import tables
from entresol.storage.block_index import BlockIndex, drop_others, is_complete, keep
from entresol.storage.block_rows import NonEmptyBlocks, Prices, has_contents, keys_of, rows_of
from entresol.storage.database import recovery
from entresol.storage.database.directory import Directory
from entresol.storage.database.key_value import Contents, KeyValueStore, Row
from entresol.storage.fork_table import anchor_rows
from entresol.storage.store_view import StoreView

MAX_COPIED_BYTES: Final = 256 << 20
"""How large a chain may be that is copied, in memory at first."""


class Store(StoreView):
    """Appends, unwinds, replaces and rebuilds the chain that `StoreView` reads, by one writer beside readers on any thread."""

    def __init__(self, directory: Directory, db: KeyValueStore) -> None:
        super().__init__(directory, db)
        self.nonempty = NonEmptyBlocks(self.head_number, self.first_number)
        # The block that is written, but not the head yet.
        self._next: BlockRecord | None = None
        self._prepared: tuple[BlockRecord, Contents] | None = None
        self._contents: Contents | None = None
        self._copied_at: int | None = None
        self._indexes: tuple[BlockIndex, ...] = ()
        # Whether the database has these, complete, and no others.
        self._has_indexes = False

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        durable: bool = True,
        is_synced: bool = True,
        rebuilding: bool = False,
        shared: bool = False,
        indexes: Sequence[BlockIndex] | None = None,
    ) -> Self:
        """Open the chain in the directory `path`, which is created if it is missing.

        It keeps `indexes` (`keep_indexes`). If none are named, those of the directory stay until a block is written,
        which drops them.

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
            indexes=indexes,
        )

    @classmethod
    def temporary(cls, *, shared: bool = False, indexes: Sequence[BlockIndex] = ()) -> Self:
        """Create an empty chain that is deleted when it is closed."""
        return cls._in(
            Directory.temporary(),
            durable=False,
            is_synced=False,
            rebuilding=False,
            shared=shared,
            indexes=indexes,
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
        indexes: Sequence[BlockIndex] | None,
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
                raise StoreFailed(f"rebuilding {directory.path} was interrupted: rebuild it again")
            store = cls(directory, db)
            store._indexes = tuple(indexes or ())
            if indexes is not None and not rebuilding:
                store.keep_indexes(indexes)
            undo.pop_all()
        return store

    @property
    def sync_seconds(self) -> float:
        """How long the last durable write took to reach the disk."""
        return self._db.sync_seconds

    @property
    def failure(self) -> StoreFailed | None:
        """Why the last write failed, or something cannot be read; None if neither."""
        return self._db.failure or self._db.damage.first

    def report_damage(self, detail: str) -> None:
        """Note, and log, that another process could not read something of this store."""
        self._db.damage.note(StoreDamaged(self.path, detail))

    def before_rewrite(self, callback: Callable[[], None]) -> None:
        """Have `callback` called before each write that changes what readers of earlier blocks see."""
        self._db.before_rewrite(callback)

    def recover(self) -> bool:
        """Try to make a store usable whose last write failed; return whether it takes writes."""
        return self._db.recover()

    def close(self) -> None:
        """Close the database and release the directory."""
        try:
            self._db.close()
        finally:
            self._directory.close()

    def init_genesis(
        self,
        record: BlockRecord,
        nodes: Iterable[Row],
        identity: bytes,
        chain_id: int,
        anchor: Anchor | None = None,
    ) -> None:
        """Add the genesis block to an empty store, with the hash that identifies it, the chain id, and the anchor of a fork."""
        header = record.header()
        if self.head_number is not None:
            raise WrongParent(header.number, self.head_number)
        if header.given_hash != (None if anchor is None else anchor.hash):
            raise MalformedValue(
                "the hash of a genesis block is given if and only if it is an anchor's"
            )
        self.genesis.number = header.number
        self.nonempty.reset(None, header.number)
        self.fork.anchor = anchor
        rows = self.genesis.rows_of(identity, chain_id, header.number)
        rows += self.rules.rows_of(header.number)
        self._append(record, nodes, [*rows, *anchor_rows(anchor)])

    def append(
        self,
        record: BlockRecord,
        nodes: Iterable[Row],
        prices: Prices | None = None,
        *,
        sync: bool = True,
    ) -> None:
        """Add the next block with trie nodes and prices in one write; without `sync` a power cut may undo it until the next."""
        self._append(record, nodes, self._marks_of_next(prices), sync=sync)

    def write_next(
        self, record: BlockRecord, nodes: Iterable[Row], prices: Prices | None = None
    ) -> None:
        """Write what `append` does, but show nothing of it: `sync` makes it durable, and `show_next` the head.

        Nothing else may change blocks until then. If `sync` fails, the next block takes its place.
        """
        # Processes that share the store see what is written at once, so there it is durable at once.
        sync = self._db.is_shared
        self._write(record, nodes, self._marks_of_next(prices), sync=sync)
        self._next = record

    def prepare_next(self, record: BlockRecord, nodes: Iterable[Row]) -> None:
        """Prepare the write of a block that may be the next; any thread may call it."""
        self._prepared = record, self._prepare(record, nodes)

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
        self.read_cache.evict_above(number)
        self.nonempty.remove_above(number)
        if deleted:
            self.batches.refresh()

    def nonempty_above(self, number: int) -> Iterator[BlockRecord]:
        """Yield the records of the blocks above `number` that have contents, in order."""
        return filter(has_contents, map(self.record, self.nonempty.above(number)))

    def copy(self) -> Store | None:
        """Return a temporary store with the same chain, None if it is too large; any thread may call it."""
        if self._db.live_bytes > MAX_COPIED_BYTES:
            return None
        copy: Store = Store.temporary()
        # Read first: what is written meanwhile may be missing.
        copy._copied_at, copy.head_number = self._db.sequence, self.head_number
        copy._indexes, copy._has_indexes = self._indexes, self._has_indexes
        try:
            copy._db.replace(self._db.contents())
        except BaseException:
            copy.close()
            raise
        return copy

    def has_copy(self, copy: Store) -> bool:
        """Return whether a copy still has everything."""
        return copy._copied_at == self._db.sequence

    def prepare_replace(self, source: Store) -> None:
        """Read what `replace` writes, which takes longer than to write it; any thread may call it."""
        source.keep_indexes(self._indexes)
        if not self.exchanges_with(source):
            source._contents = source._db.contents()

    def replace(self, source: Store) -> bool:
        """Replace the whole chain by that of another store; return whether that has this one's chain now.

        That is one durable write, after which the other store is not used any more. Two temporary stores only exchange
        their files, unless others read them.
        """
        is_exchanged = self.exchanges_with(source)
        source.keep_indexes(self._indexes)
        if is_exchanged:
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
        self.read_cache.evict_above(-1)
        self.genesis.refresh()
        self.fork.refresh()
        self.nonempty.reset(self.head_number, self.first_number)
        self.loaded.refresh()
        self.batches.refresh()
        self.prices.refresh()
        self.rules.refresh()
        return is_exchanged

    def keep_indexes(self, indexes: Sequence[BlockIndex]) -> None:
        """Keep these indexes from now on, which are built if they are missing, and drop all others."""
        if self._has_indexes and self._indexes == tuple(indexes):
            return
        self._has_indexes = False
        keep(self._db, indexes, self.records)
        self._indexes, self._has_indexes = tuple(indexes), True

    def rebuild(
        self,
        nodes_of: Callable[[BlockRecord], Iterable[Row]],
        progress: Callable[[int, int], None] = lambda _done, _all: None,
    ) -> None:
        """Rebuild the derived tables from the records, without readers meanwhile; an interrupted one has to be done again."""
        self._db.write([(tables.REBUILDING, b"")])
        drop_others(self._db, self._indexes)
        indexes = [index for index in self._indexes if is_complete(self._db, index)]
        of_indexes = [table for index in indexes for table in index.tables]
        # What was closed on L1 is found again when L1 is asked.
        for table in (*tables.DERIVED, *of_indexes, tables.CLOSED_LOGS):
            self._db.drop(table)
        first = self.first_number
        total = 0 if self.head_number is None else self.head_number + 1 - first
        for done, record in enumerate(self.records()):
            rows = rows_of(self._db, record, first + done, nodes_of(record))
            for index in indexes:
                rows += index.rows_of(self._db, record, first + done)
            self._db.write([*rows, *self.fork.rows_of(record, first + done)], sync=False)
            progress(done + 1, total)
        self._db.write([], [tables.REBUILDING])

    def exchanges_with(self, source: Store) -> bool:
        """Return whether `replace` leaves this chain in the other store."""
        is_temporary = self._directory.is_temporary and source._directory.is_temporary
        return is_temporary and not self._db.is_shared

    @property
    def _next_number(self) -> int:
        return self.first_number if self.head_number is None else self.head_number + 1

    def _append(
        self, record: BlockRecord, nodes: Iterable[Row], marks: list[Row], *, sync: bool = True
    ) -> None:
        self._show(self._write(record, nodes, marks, sync=sync), record)

    def _marks_of_next(self, prices: Prices | None) -> list[Row]:
        """Return the rows of the next block that do not follow from its record."""
        number = self._next_number
        return [*self.prices.rows_of(number, prices), *self.rules.rows_of(number)]

    def _write(
        self, record: BlockRecord, nodes: Iterable[Row], marks: list[Row], *, sync: bool
    ) -> int:
        """Write a block, and return its number."""
        header = record.header()
        if not self._continues(header.number, header.parent_hash):
            raise WrongParent(header.number, self.head_number)
        if header.given_hash is not None and self.head_number is not None:
            raise MalformedValue(
                f"block {header.number} has a hash that is given: only an anchor has"
            )
        if not self._has_indexes:
            # Others would miss this block, and seem complete.
            self.keep_indexes(self._indexes)
        prepared, self._prepared = self._prepared, None
        if prepared is None or prepared[0] is not record:
            prepared = record, self._prepare(record, nodes)
        self._db.write_prepared(prepared[1], marks, sync=sync)
        return header.number

    def _prepare(self, record: BlockRecord, nodes: Iterable[Row]) -> Contents:
        number = record.header().number
        rows = [
            (tables.record_key(number), record.encode()),
            (tables.HEAD, tables.number(number)),
            *rows_of(self._db, record, number, nodes),
            *self.fork.rows_of(record, number),
        ]
        for index in self._indexes:
            rows += index.rows_of(self._db, record, number)
        return self._db.prepared(rows, self._left_by_reverted(number))

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
            table + key
            for table in (tables.PRICES, tables.RULES, tables.BATCH_POSITION)
            if self._db.get(table + key) is not None
        ]
        shared_with_none = keys_of(self._db, record, number)
        optional = [*self.fork.keys_of(record, number)]
        for index in self._indexes:
            optional += index.keys_of(self._db, record, number)
        return [*others, *shared_with_none, *optional]
