"""Entries of the canonical log: what a store persists that follows from nothing else, byte for byte as tables store it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from entresol.errors import MalformedValue
from entresol.primitives.batches import Batch, SettlementStep, SettlementTransaction
from entresol.primitives.interop_roots import InteropRoot
from entresol.primitives.records import BlockRecord, HashBytes, Natural
from entresol.primitives.values import Hash32
from entresol.storage.batch_table import DepositCursor
from entresol.storage.block_rows import Prices
from entresol.storage.root_table import BatchPath, RootCursor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.storage.batch_table import BatchTable


class _EntryPart(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An entry: encoded as an array of its kind and exactly its fields."""


class BlockEntry(_EntryPart, frozen=True, tag="block"):
    """A sealed block with its prices, which its header does not contain."""

    record: bytes
    prices: bytes = b""

    @classmethod
    def of(cls, record: BlockRecord, prices: Prices | None) -> BlockEntry:
        """Return the entry of a block."""
        return cls(record.encode(), b"" if prices is None else prices.pack())

    def block(self) -> tuple[BlockRecord, Prices | None]:
        """Return the record and the prices."""
        prices = Prices.unpack(self.prices) if self.prices else None
        return BlockRecord.decode(self.record), prices


class UnwindEntry(_EntryPart, frozen=True, tag="unwind"):
    """The chain is reverted to a block."""

    number: Natural


class BatchEntry(_EntryPart, frozen=True, tag="batch"):
    """A sealed batch with its packed logs, how many of them precede each of its blocks, and what it publishes."""

    batch: bytes
    logs: bytes
    logs_before: tuple[Natural, ...]
    data: bytes = b""

    @classmethod
    def of(cls, batch: Batch, logs: bytes, logs_before: Iterable[int], data: bytes) -> BatchEntry:
        """Return the entry of a sealed batch."""
        return cls(batch.encode(), logs, tuple(logs_before), data)

    def decoded(self) -> Batch:
        """Return the batch."""
        return Batch.decode(self.batch)


class SettledEntry(_EntryPart, frozen=True, tag="settled"):
    """The L1 transaction that did a step of consecutive batches."""

    step: SettlementStep
    first: Natural
    last: Natural
    transaction: HashBytes
    block: Natural
    timestamp: Natural
    ends_outgoing: bool
    """Whether it is the transaction that was under way for the step, which no longer is then."""
    gas_used: Natural | None = None
    """Gas that L1 took for it; None if that is not known."""

    @classmethod
    def of(
        cls, numbers: range, step: SettlementStep, by: SettlementTransaction, *, ends_outgoing: bool
    ) -> SettledEntry:
        """Return the entry of a step of some batches."""
        done = (bytes(by.transaction), by.block, by.timestamp)
        return cls(step, numbers[0], numbers[-1], *done, ends_outgoing, by.gas_used)


class UnsettledEntry(_EntryPart, frozen=True, tag="unsettled"):
    """A reorg of L1 removed a step of consecutive batches."""

    step: SettlementStep
    first: Natural
    last: Natural


class OutgoingEntry(_EntryPart, frozen=True, tag="outgoing"):
    """The settlement transaction under way for a step, before it is sent; empty if there is none any more."""

    step: SettlementStep
    transaction: bytes


class BookedEntry(_EntryPart, frozen=True, tag="booked"):
    """The L1 transaction that booked what a batch sends to other chains."""

    number: Natural
    transaction: HashBytes
    block: Natural
    timestamp: Natural

    @classmethod
    def of(cls, number: int, by: SettlementTransaction) -> BookedEntry:
        """Return the entry of a batch."""
        return cls(number, bytes(by.transaction), by.block, by.timestamp)


class UnbookedEntry(_EntryPart, frozen=True, tag="unbooked"):
    """L1 has not booked a batch, or not any more, and why; empty if that is not known."""

    number: Natural
    problem: str = ""
    is_partial: bool = False
    """Whether it has booked all but some of its bundles."""


class ConfirmedEntry(_EntryPart, frozen=True, tag="confirmed"):
    """How far L1 has confirmed the chain."""

    safe: Natural
    finalized: Natural


class DepositsEntry(_EntryPart, frozen=True, tag="deposits"):
    """The L1 block up to which all deposits are in sealed blocks."""

    block: Natural
    block_hash: HashBytes
    next_id: Natural


class RootsEntry(_EntryPart, frozen=True, tag="roots"):
    """The roots of L1 from one of its blocks up to another."""

    first: Natural
    block: Natural
    block_hash: HashBytes
    trees: bytes
    roots: tuple[tuple[Natural, Natural, Natural, HashBytes], ...] = ()
    """Chain id of L1, block and time of each root to import, and the root."""
    paths: tuple[tuple[Natural, bytes], ...] = ()
    """The batches that L1 has appended, with the rows of their paths."""

    @classmethod
    def of(
        cls,
        first: int,
        cursor: RootCursor,
        roots: Iterable[InteropRoot] = (),
        paths: Iterable[tuple[int, BatchPath]] = (),
    ) -> RootsEntry:
        """Return the entry of a range of blocks."""
        numbered = tuple((*root[:3], bytes(root.root)) for root in roots)
        packed = tuple((batch, path.pack()) for batch, path in paths)
        block, block_hash, trees = cursor
        return cls(first, block, bytes(block_hash), trees, numbered, packed)


Entry: TypeAlias = (
    BlockEntry
    | UnwindEntry
    | BatchEntry
    | SettledEntry
    | UnsettledEntry
    | OutgoingEntry
    | BookedEntry
    | UnbookedEntry
    | ConfirmedEntry
    | DepositsEntry
    | RootsEntry
)

_DECODER: Final[msgspec.msgpack.Decoder[Entry]] = msgspec.msgpack.Decoder(Entry)


def kind_of(entry: Entry) -> str:
    """Return the name of an entry's kind."""
    return str(type(entry).__struct_config__.tag)


def encode_entry(entry: Entry) -> bytes:
    """Return an entry in MessagePack."""
    return msgspec.msgpack.encode(entry)


def decode_entry(payload: bytes) -> Entry:
    """Decode what `encode_entry` writes."""
    try:
        return _DECODER.decode(payload)
    except msgspec.DecodeError as error:
        raise MalformedValue(f"an entry of the log is not readable: {error}") from error


def apply_to_batches(batches: BatchTable, entry: Entry) -> None:
    """Write an entry about batches, their settlement or deposits, in one write."""
    match entry:
        case BatchEntry():
            batches.append(entry.decoded(), entry.logs, entry.logs_before, entry.data)
        case SettledEntry():
            by = SettlementTransaction(
                Hash32(entry.transaction), entry.block, entry.timestamp, entry.gas_used
            )
            settle = batches.settle if entry.ends_outgoing else batches.update_settlement
            settle(range(entry.first, entry.last + 1), entry.step, by)
        case UnsettledEntry():
            batches.revert_settlement(range(entry.first, entry.last + 1), entry.step)
        case OutgoingEntry():
            batches.set_pending_settlement(entry.step, entry.transaction or None)
        case BookedEntry():
            by = SettlementTransaction(Hash32(entry.transaction), entry.block, entry.timestamp)
            batches.books.book(entry.number, by)
        case UnbookedEntry():
            batches.books.unbook(entry.number, entry.problem, is_partial=entry.is_partial)
        case DepositsEntry():
            cursor = DepositCursor(entry.block, Hash32(entry.block_hash), entry.next_id)
            batches.set_deposit_cursor(cursor)
        case RootsEntry():
            batches.roots.update(
                entry.first,
                RootCursor(entry.block, Hash32(entry.block_hash), entry.trees),
                [
                    InteropRoot.of(chain_id, block, timestamp, Hash32(root))
                    for chain_id, block, timestamp, root in entry.roots
                ],
                [(batch, BatchPath.unpack(row)) for batch, row in entry.paths],
            )
        case _:
            raise TypeError(f"{kind_of(entry)} is not about batches")
