"""Read the blocks and the state of a stored chain, from a cache or from the database."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator
from pathlib import Path
from types import NotImplementedType
from typing import Final, NamedTuple, TypeAlias, TypeVar

from entresol._native import Account
from entresol.errors import MalformedValue, StoreDamaged, UnknownBlock
from entresol.primitives.headers import Header
from entresol.primitives.records import BlockRecord
from entresol.primitives.values import Hash32
from entresol.storage import tables
from entresol.storage.batch_table import BatchTable
from entresol.storage.block_rows import PriceTable, RulesTable, as_published
from entresol.storage.database.directory import Directory
from entresol.storage.database.key_value import KeyValueStore, Row
from entresol.storage.fork_table import ForkTable
from entresol.storage.loaded_history import LoadedHistory
from entresol.storage.log_index import LogQuery, OpenLogTable, candidates
from entresol.storage.read_cache import ReadCache
from entresol.storage.tables import GenesisTable, PositionTable, StateKeys

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Known: TypeAlias = V | NotImplementedType
"""A value that blocks have written, or `NotImplemented`: unknown here, so that a fork asks its remote."""


_HASH_SIZE: Final = 32


class TransactionLocation(NamedTuple):
    """The block of a sealed transaction, and its index there."""

    block_number: int
    transaction_index: int


class StoreView:
    """The contents of a store up to its head, for readers on any thread; `Store` adds what changes it."""

    def __init__(self, directory: Directory, db: KeyValueStore) -> None:
        self._db = db
        self._directory = directory
        self.read_cache = ReadCache()
        self.genesis = GenesisTable(db)
        self.fork = ForkTable(db, directory.path)
        self.batches = BatchTable(db)
        self.prices = PriceTable(db)
        self.rules = RulesTable(db, directory.path)
        self.state_keys = StateKeys(db)
        self.position = PositionTable(db)
        self.loaded = LoadedHistory(db)
        self.open_logs = OpenLogTable(db)
        head = db.get(tables.HEAD)
        self.head_number = None if head is None else int.from_bytes(head)
        """The number of the last block, or None before genesis."""

    @property
    def path(self) -> Path:
        """The data directory of the chain."""
        return self._directory.path

    @property
    def rows(self) -> KeyValueStore:
        """All rows, for who reads those of an index."""
        return self._db

    @property
    def first_number(self) -> int:
        """The number of the genesis block."""
        return self.genesis.number

    @property
    def reverts(self) -> int:
        """A number that is another one once blocks were reverted: the same blocks may have other prices afterwards."""
        return self.read_cache.evictions

    def get_record(self, number: int) -> BlockRecord | None:
        """Return the record of a block, or None if there is no such block."""
        return self.read_cache.record(number, self._read_record)

    def record(self, number: int) -> BlockRecord:
        """Return the record of a block; raise `UnknownBlock` if there is none."""
        record = self.get_record(number)
        if record is None:
            raise UnknownBlock(number)
        return record

    def get_encoded_record(self, number: int) -> bytes | None:
        """Return the record of a block as it is stored, or None if there is no such block."""
        return self._db.get(tables.record_key(number)) if self._has(number) else None

    def encoded_record(self, number: int) -> bytes:
        """Return the record of a block as it is stored; raise `UnknownBlock` if there is none."""
        data = self.get_encoded_record(number)
        if data is None:
            raise UnknownBlock(number)
        return data

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
        return self.read_cache.number(block_hash, self._read_number)

    def block_hash(self, number: int) -> Hash32 | None:
        """Return the hash of a block."""
        if not self._has(number):
            return None
        row = self._db.get(tables.HASH_OF_NUMBER + tables.number(number))
        return None if row is None else Hash32(row)

    def blocks_with_logs(
        self, query: LogQuery, first: int, last: int, *, newest_first: bool = False
    ) -> Iterator[int]:
        """Yield the blocks from `first` to `last` that may have a log of `query`."""
        return candidates(self._db, query, first, last, newest_first=newest_first)

    # Transactions

    def locate_transaction(self, transaction_hash: bytes) -> TransactionLocation | None:
        """Return the newest location of the transaction with this hash."""
        head = self.head_number
        if head is not None:
            # A client that has just sent it looks for it there, and reading a row is faster than seeking one.
            row = self._db.get(tables.location_key(transaction_hash, head))
            if row is not None:
                return TransactionLocation(head, int.from_bytes(row))
        return self._location(tables.TRANSACTION_LOCATION + transaction_hash)

    def transactions_from(self, start: bytes, prefix: bytes, count: int) -> list[Hash32]:
        """Return up to `count` hashes of transactions from `start` on that begin with `prefix`."""
        table = tables.TRANSACTION_LOCATION
        found = self._db.read(table + start, table + prefix, count)
        hashes = dict.fromkeys(Hash32(key[1 : 1 + _HASH_SIZE]) for key, _ in found)
        return [
            found_hash for found_hash in hashes if self.locate_transaction(found_hash) is not None
        ]

    def blocks_from(self, start: bytes, prefix: bytes, count: int) -> list[Hash32]:
        """Return up to `count` hashes of blocks from `start` on that begin with `prefix`."""
        table = tables.NUMBER_OF_HASH
        found = (Hash32(key[1:]) for key, _ in self._db.read(table + start, table + prefix, count))
        return [found_hash for found_hash in found if self.block_number(found_hash) is not None]

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
        return bisect_left(
            range(following), 1, key=lambda number: self.locate_priority(number) is None
        )

    def locate_priority(self, priority_id: int) -> TransactionLocation | None:
        """Return the location of the priority transaction with this id."""
        return self._location(tables.PRIORITY + tables.number(priority_id))

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

    def known_account(self, address: bytes, number: int) -> Known[Account | None]:
        """Return an account as of block `number`, None if a block deleted it; `NotImplemented` if none has changed it."""
        prefix = tables.ACCOUNT + address
        found = self._db.last_at_most(prefix + tables.number(number), prefix)
        return NotImplemented if found is None else tables.unpack_account(found[1])

    def known_slot(self, address: bytes, slot: bytes, number: int) -> Known[bytes]:
        """Return a slot's value as of block `number`; `NotImplemented` if no block has written or cleared it."""
        prefix = tables.SLOT + address + slot
        found = self._db.last_at_most(prefix + tables.number(number), prefix)
        if found is not None:
            # Clearing writes a row for each slot that blocks have written, and one for all that only the remote has.
            return found[1]
        return b"" if self.fork.is_cleared(address, number) else NotImplemented

    def code(self, code_hash: bytes) -> bytes | None:
        """Return the code with this hash."""
        code = self._db.get(tables.CODE + code_hash)
        return self.fork.code(code_hash) if code is None else code

    def bytecode(self, name: bytes) -> bytes | None:
        """Return the bytecode that a sealed block published under the hash `name`."""
        found = self._last(tables.PUBLISHED + name)
        code = None if found is None else self.code(found[1])
        return None if code is None else as_published(name, code)

    def node(self, node_hash: bytes) -> bytes | None:
        """Return the trie node with this hash."""
        return self._db.get(tables.NODE + node_hash)

    def _last(self, prefix: bytes) -> Row | None:
        """Return the last row of a history; blocks above the head are reverted."""
        head = 0 if self.head_number is None else self.head_number
        return self._db.last_at_most(prefix + tables.number(head), prefix)

    def _location(self, prefix: bytes) -> TransactionLocation | None:
        if (found := self._last(prefix)) is None:
            return None
        return TransactionLocation(tables.block_of(found[0]), int.from_bytes(found[1]))

    def _has(self, number: int) -> bool:
        return self.head_number is not None and self.first_number <= number <= self.head_number

    def _read_record(self, number: int) -> BlockRecord | None:
        return self._decoded(number) if self._has(number) else None

    def _read_number(self, block_hash: bytes) -> int | None:
        row = self._db.get(tables.NUMBER_OF_HASH + block_hash)
        if row is None:
            return None
        number = int.from_bytes(row)
        # The rows of reverted blocks stay until others overwrite them.
        return number if self.block_hash(number) == block_hash else None

    def _decoded(self, number: int) -> BlockRecord | None:
        data = self._db.get(tables.record_key(number))
        try:
            return None if data is None else BlockRecord.decode(data)
        except MalformedValue as error:
            damaged = StoreDamaged(self.path, f"block {number}: {error}")
            raise self._db.damage.note(damaged) from error
