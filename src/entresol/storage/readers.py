"""What the rooms above ask of a store: small interfaces, so that a constructor shows what it needs.

All calls are synchronous: a store is local, and a caller that must not block runs it on a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from entresol.primitives.records import BlockRecord
from entresol.primitives.values import Hash32
from entresol.storage.log_index import LogQuery


class BlockReader(Protocol):
    """Blocks that were sealed or followed."""

    @property
    def head(self) -> int | None:
        """The number of the last block, if there is one."""

    def record(self, number: int) -> BlockRecord | None:
        """Return the record of a block."""

    def block_hash(self, number: int) -> Hash32 | None:
        """Return the hash of a block."""

    def number_of(self, block_hash: bytes) -> int | None:
        """Return the number of the block with this hash."""

    def place_of(self, transaction_hash: bytes) -> tuple[int, int] | None:
        """Return block and index of the transaction with this hash."""

    def sent_by(self, sender: bytes, nonce: int) -> Hash32 | None:
        """Return the hash of the transaction by which `sender` used `nonce`."""


class LogReader(Protocol):
    """Where logs are."""

    def record(self, number: int) -> BlockRecord | None:
        """Return the record of a block."""

    def blocks_with_logs(
        self, query: LogQuery, first: int, last: int, *, newest_first: bool = False
    ) -> Iterator[int]:
        """Yield the blocks from `first` to `last` that may have a log of `query`."""


class StateReader(Protocol):
    """Accounts, slots and codes as they stood after any block, and the nodes of their tries."""

    def account(self, address: bytes, number: int) -> tuple[int, int, bytes] | None:
        """Return nonce, balance and code hash of an account as it stood after block `number`."""

    def slot(self, address: bytes, slot: bytes, number: int) -> bytes:
        """Return a slot's value after block `number`, big-endian without leading zeros."""

    def code(self, code_hash: bytes) -> bytes | None:
        """Return the code with this hash."""

    def node(self, node_hash: bytes) -> bytes | None:
        """Return the trie node with this hash."""

    def block_hash(self, number: int) -> Hash32 | None:
        """Return the hash of a block."""


class CodeReader(Protocol):
    """Code by the hashes that users have at hand."""

    def published(self, name: bytes) -> bytes | None:
        """Return the code that a sealed block published under the hash `name`."""
