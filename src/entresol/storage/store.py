"""One chain on disk: records appended one by one, and read back by number, hash, place or time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, Self

from entresol._native import keccak256
from entresol.errors import StoreDamaged, WrongParent
from entresol.primitives.transactions import PriorityTransaction, load
from entresol.primitives.values import Address, Hash32
from entresol.storage import tables
from entresol.storage.directory import Directory
from entresol.storage.engine import Engine
from entresol.storage.log_index import LogQuery, candidates, index_keys
from entresol.storage.records import Record

RECORDS_KEPT: Final = 64


class Store:
    """A chain's records and the indexes over them.

    Remembers: the number of the last block, and the records read last. Persists: each appended record
    with all that is derived from it, in one write that is there whole or not at all. Assumes: one
    writer at a time, who appends blocks in order, be it a producer or a log that is followed. Fails:
    with a `StoreFailed`; what was acknowledged stays.
    """

    def __init__(self, directory: Directory, *, durable: bool) -> None:
        self._directory = directory
        try:
            self._engine = Engine(directory.database, durable=durable, create=directory.is_new)
        except BaseException:
            directory.close()
            raise
        head = self._engine.get(tables.HEAD)
        self._head = None if head is None else int.from_bytes(head)
        self._record = lru_cache(RECORDS_KEPT)(self._read_record)

    @classmethod
    def open(cls, path: Path, *, durable: bool = True) -> Self:
        """Open the chain in the directory `path`, which is created if it is missing."""
        return cls(Directory.open(path), durable=durable)

    @classmethod
    def temporary(cls) -> Self:
        """Make an empty chain that is gone when it is closed."""
        return cls(Directory.temporary(), durable=False)

    @property
    def path(self) -> Path:
        """The directory."""
        return self._directory.path

    @property
    def head(self) -> int | None:
        """The number of the last block, if there is one."""
        return self._head

    @property
    def identity(self) -> bytes | None:
        """What the chain was begun with, so that it is not taken for another one."""
        return self._engine.get(tables.GENESIS)

    def close(self) -> None:
        """Let go of the directory."""
        self._engine.close()
        self._directory.close()

    # Blocks

    def record(self, number: int) -> Record | None:
        """Return the record of a block."""
        return self._record(number)

    def records(self, first: int = 0) -> Iterator[Record]:
        """Yield the records from block `first` on."""
        for _, value in self._engine.scan(tables.RECORD, tables.number(first)):
            yield Record.decode(value)

    def number_of(self, block_hash: bytes) -> int | None:
        """Return the number of the block with this hash."""
        row = self._engine.get(tables.NUMBER_OF_HASH + block_hash)
        return None if row is None else int.from_bytes(row)

    def block_hash(self, number: int) -> Hash32 | None:
        """Return the hash of a block."""
        record = self._record(number)
        return None if record is None else Hash32(keccak256(record.header_rlp))

    def place_of(self, transaction_hash: bytes) -> tuple[int, int] | None:
        """Return block and index of the transaction with this hash."""
        row = self._engine.get(tables.PLACE_OF_TRANSACTION + transaction_hash)
        return None if row is None else tables.unpack_place(row)

    def sent_by(self, sender: bytes, nonce: int) -> Hash32 | None:
        """Return the hash of the transaction by which `sender` used `nonce`."""
        row = self._engine.get(tables.nonce_key(sender, nonce))
        return None if row is None else Hash32(row)

    def blocks_with_logs(
        self, query: LogQuery, first: int, last: int, *, newest_first: bool = False
    ) -> Iterator[int]:
        """Yield the blocks from `first` to `last` that may have a log of `query`."""
        return candidates(self._engine, query, first, last, newest_first=newest_first)

    # State

    def account(self, address: bytes, number: int) -> tuple[int, int, bytes] | None:
        """Return nonce, balance and code hash of an account as it stood after block `number`."""
        prefix = tables.ACCOUNT + address
        found = self._engine.last_at_most(prefix + tables.number(number), prefix)
        return None if found is None else tables.unpack_account(found[1])

    def slot(self, address: bytes, slot: bytes, number: int) -> bytes:
        """Return a slot's value after block `number`, big-endian without leading zeros."""
        prefix = tables.SLOT + address + slot
        found = self._engine.last_at_most(prefix + tables.number(number), prefix)
        return b"" if found is None else found[1]

    def code(self, code_hash: bytes) -> bytes | None:
        """Return the code with this hash."""
        return self._engine.get(tables.CODE + code_hash)

    def node(self, node_hash: bytes) -> bytes | None:
        """Return the trie node with this hash."""
        return self._engine.get(tables.NODE + node_hash)

    # Writing

    def begin(self, record: Record, nodes: Iterable[tuple[bytes, bytes]], identity: bytes) -> None:
        """Add the first block to an empty store, with the mark by which the chain is known."""
        self._append(record, nodes, [(tables.GENESIS, identity)])

    def append(self, record: Record, nodes: Iterable[tuple[bytes, bytes]]) -> None:
        """Add the next block, with the trie nodes that are new in it, durably and at once."""
        self._append(record, nodes, [])

    def _append(
        self,
        record: Record,
        nodes: Iterable[tuple[bytes, bytes]],
        marks: list[tuple[bytes, bytes]],
    ) -> None:
        number = record.header().number
        if number != (0 if self._head is None else self._head + 1):
            raise WrongParent(number, self._head)
        rows = [
            *marks,
            (tables.record_key(number), record.encode()),
            (tables.HEAD, tables.number(number)),
            *self._derived(record, number, nodes),
        ]
        self._engine.write(rows)
        self._head = number

    def truncate(self, number: int) -> None:
        """Forget every block above `number`, at once; trie nodes and codes stay, by their hash."""
        doomed = [key for block in self._above(number) for key in self._keys_of(block)]
        self._engine.write([(tables.HEAD, tables.number(number))], doomed)
        self._head = number
        self._record.cache_clear()

    def rebuild(
        self,
        nodes_of: Callable[[Record], Iterable[tuple[bytes, bytes]]],
        progress: Callable[[int, int], None] = lambda _done, _all: None,
    ) -> None:
        """Make everything anew that is derived from the records."""
        for table in tables.DERIVED:
            self._engine.drop(table)
        total = 0 if self._head is None else self._head + 1
        for number, record in enumerate(self.records()):
            self._engine.write(self._derived(record, number, nodes_of(record)))
            progress(number + 1, total)

    def _derived(
        self, record: Record, number: int, nodes: Iterable[tuple[bytes, bytes]]
    ) -> Iterator[tuple[bytes, bytes]]:
        yield tables.NUMBER_OF_HASH + keccak256(record.header_rlp), tables.number(number)
        for index, (raw, sender) in enumerate(record.transactions):
            transaction = load(raw, Address(sender))
            place = tables.pack_place(number, index)
            yield tables.PLACE_OF_TRANSACTION + transaction.hash, place
            if not isinstance(transaction.payload, PriorityTransaction):
                yield tables.nonce_key(sender, transaction.payload.nonce), transaction.hash
        yield from self._state_rows(record, number)
        for code in record.codes:
            yield tables.CODE + keccak256(code), code
        for node_hash, node in nodes:
            yield tables.NODE + node_hash, node
        for key in index_keys(record, number):
            yield key, b""

    def _state_rows(self, record: Record, number: int) -> Iterator[tuple[bytes, bytes]]:
        for change in record.changes:
            key = tables.account_key(change.address, number)
            yield key, tables.pack_account(change.account)
            if change.destroyed:
                for slot in self._live_slots(change.address, number):
                    yield tables.slot_key(change.address, slot, number), b""
            for slot, value in change.slots:
                yield tables.slot_key(change.address, slot, number), value

    def _live_slots(self, address: bytes, number: int) -> Iterator[bytes]:
        """Yield the slots of `address` that were not zero before block `number`."""
        prefix = tables.SLOT + address
        live: dict[bytes, bool] = {}
        for key, value in self._engine.scan(prefix):
            if int.from_bytes(key[-tables.NUMBER_SIZE :]) < number:
                live[key[len(prefix) : -tables.NUMBER_SIZE]] = bool(value)
        return (slot for slot, is_live in live.items() if is_live)

    def _above(self, number: int) -> Iterator[int]:
        return iter(range(number + 1, (self._head or 0) + 1))

    def _keys_of(self, number: int) -> Iterator[bytes]:
        record = self.record(number)
        if record is None:
            raise StoreDamaged(self.path, f"block {number} is missing")
        yield tables.record_key(number)
        kept = (tables.CODE, tables.NODE)
        derived = self._derived(record, number, ())
        yield from (key for key, _ in derived if not key.startswith(kept))

    def _read_record(self, number: int) -> Record | None:
        data = self._engine.get(tables.record_key(number))
        return None if data is None else Record.decode(data)
