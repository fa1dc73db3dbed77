"""Read interfaces of a store, each as small as its callers need.

All calls are synchronous: a store is local, and a caller that must not block uses a worker thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from entresol._native import Account
from entresol.primitives.headers import Header
from entresol.primitives.records import BlockRecord
from entresol.primitives.values import Hash32
from entresol.storage.log_index import LogQuery


class TransactionLocation(NamedTuple):
    """The block of a sealed transaction, and its index there."""

    block_number: int
    transaction_index: int


class LogReader(Protocol):
    """Blocks by the logs that they contain."""

    def get_record(self, number: int) -> BlockRecord | None:
        """Return the record of a block, or None if there is no such block."""

    def block_number(self, block_hash: bytes) -> int | None:
        """Return the number of the block with this hash."""

    def blocks_with_logs(
        self, query: LogQuery, first: int, last: int, *, newest_first: bool = False
    ) -> Iterator[int]:
        """Yield the blocks from `first` to `last` that may have a log of `query`."""


class BlockReader(LogReader, Protocol):
    """Sealed blocks and their transactions."""

    @property
    def path(self) -> Path:
        """The directory of the store, for errors that name it."""

    @property
    def first_number(self) -> int:
        """The number of the genesis block."""

    @property
    def head_number(self) -> int | None:
        """The number of the last block, or None before genesis."""

    def get_encoded_record(self, number: int) -> bytes | None:
        """Return the record of a block as it is stored, or None if there is no such block."""

    def record(self, number: int) -> BlockRecord:
        """Return the record of a block; raise `UnknownBlock` if there is none."""

    def records(self, first: int = 0) -> Iterator[BlockRecord]:
        """Yield the records from block `first` on."""

    def header(self, number: int) -> Header:
        """Return the header of a block; raise `UnknownBlock` if there is none."""

    def block_hash(self, number: int) -> Hash32 | None:
        """Return the hash of a block."""

    def locate_transaction(self, transaction_hash: bytes) -> TransactionLocation | None:
        """Return the newest location of the transaction with this hash."""

    def hash_by_nonce(self, sender: bytes, nonce: int) -> Hash32 | None:
        """Return the hash of the newest transaction of `sender` with this nonce."""

    def locate_priority(self, priority_id: int) -> TransactionLocation | None:
        """Return the location of the priority transaction with this id."""

    def next_priority_id(self) -> int:
        """Return the id that follows the last priority transaction's."""


class StateReader(Protocol):
    """Accounts, slots and codes as of any block, and trie nodes."""

    def account(self, address: bytes, number: int) -> Account | None:
        """Return an account as of block `number`."""

    def slot(self, address: bytes, slot: bytes, number: int) -> bytes:
        """Return a slot's value as of block `number`, big-endian without leading zeros."""

    def code(self, code_hash: bytes) -> bytes | None:
        """Return the code with this hash."""

    def node(self, node_hash: bytes) -> bytes | None:
        """Return the trie node with this hash."""

    def block_hash(self, number: int) -> Hash32 | None:
        """Return the hash of a block."""


class BytecodeReader(Protocol):
    """Published bytecodes by the hashes that clients use."""

    def bytecode(self, name: bytes) -> bytes | None:
        """Return the bytecode that a sealed block published under the hash `name`."""
