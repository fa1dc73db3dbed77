"""A state file as a value: accounts, blocks and results, in the form of anvil and in our own."""

from __future__ import annotations

from typing import Final, NamedTuple, Self

import msgspec

from entresol.primitives.anchor import Anchor
from entresol.primitives.headers import Header
from entresol.primitives.records import BlockRecord, StoredChange, TransactionResult
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Address, Hash32

MAX_BYTES: Final = 512 * 1024 * 1024
"""How long a file may be, unpacked; it is read into memory."""

BYTES_PER_VALUE: Final = 128
"""About how much memory a value of a file takes besides its text: an account, a field of it, a slot."""


class FileAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An account with its code and all of its slots."""

    nonce: int = 0
    balance: int = 0
    code: bytes = b""
    storage: dict[bytes, bytes] = {}


class FileResult(NamedTuple):
    """The result of a transaction, with its sender."""

    sender: Address
    result: TransactionResult


class FileBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A block with the results of its transactions."""

    header: Header
    transactions: tuple[Transaction, ...] = ()
    results: tuple[TransactionResult, ...] = ()


class FileAnchor(NamedTuple):
    """The block of a remote chain that a dumped fork stands on."""

    chain_id: int
    number: int
    hash: Hash32

    @classmethod
    def of(cls, anchor: Anchor | None) -> Self | None:
        """Return what a file says of an anchor."""
        return None if anchor is None else cls(anchor.chain_id, anchor.number, anchor.hash)

    def __str__(self) -> str:
        return f"block {self.number} ({self.hash}) of chain {self.chain_id}"


class ChainPart(msgspec.Struct, frozen=True, kw_only=True):
    """A chain with everything that it stores, so that it can be restored exactly."""

    chain_id: int
    records: tuple[BlockRecord, ...]
    rows: tuple[tuple[bytes, bytes], ...] = ()
    """Rows that do not follow from the records: batches, their settlement, prices."""
    edits: tuple[StoredChange, ...] = ()
    edited_codes: tuple[bytes, ...] = ()
    anchor: FileAnchor | None = None
    """What the chain stands on; None if it is not a fork."""


class StateFile(msgspec.Struct, frozen=True, kw_only=True):
    """A state file."""

    best: int | None = None
    """The number of the last block; None if the file has accounts alone."""
    accounts: dict[Address, FileAccount] = {}
    blocks: dict[int, FileBlock] = {}
    states: dict[Hash32, dict[Address, FileAccount]] = {}
    """States after blocks before the last one, by block hash."""
    chains: tuple[ChainPart, ...] = ()
    """Our own part: every chain of the node that wrote the file."""

    def part_of(self, chain_id: int) -> ChainPart | None:
        """Return our own part about a chain."""
        return next((chain for chain in self.chains if chain.chain_id == chain_id), None)
