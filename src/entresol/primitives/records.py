"""The canonical record of a block: all there is to know of it, in bytes that any node can follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Self, TypeAlias

import msgspec

from entresol._native import keccak256
from entresol.errors import MalformedValue
from entresol.primitives.headers import Header
from entresol.primitives.l2_to_l1_logs import PACKED_SIZE, L2ToL1Log
from entresol.primitives.logs import MAX_TOPICS, Log
from entresol.primitives.receipts import Receipt
from entresol.primitives.transactions import Transaction, load
from entresol.primitives.transactions.priority import L1_TYPES, PRIORITY_TYPES
from entresol.primitives.transactions.zk import ZK_TYPE
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol._native import Account, Changes

VERSION: Final = 1

# The hash of the others is that of their bytes.
_HASHED_BY_CONTENT: Final = L1_TYPES | {ZK_TYPE}

AddressBytes: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=20, max_length=20)]
HashBytes: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
NumberBytes: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=32)]
NotEmpty: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=1)]
Packed: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=PACKED_SIZE, max_length=PACKED_SIZE)]
Topics: TypeAlias = Annotated[tuple[HashBytes, ...], msgspec.Meta(max_length=MAX_TOPICS)]
Natural: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class RecordPart(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A part of a record: an array that has its fields in their order, and no others."""


class StoredAccount(RecordPart, frozen=True):
    """An account after a block; the balance is big-endian without leading zeros."""

    nonce: Natural
    balance: NumberBytes
    code_hash: HashBytes


class StoredChange(RecordPart, frozen=True):
    """What a block made of one account.

    `destroyed` says that all storage from before is gone; `slots` are written after that. A value is
    big-endian without leading zeros, so zero is empty.
    """

    address: AddressBytes
    account: StoredAccount | None
    destroyed: bool = False
    slots: tuple[tuple[HashBytes, NumberBytes], ...] = ()


class TransactionResult(RecordPart, frozen=True):
    """How a transaction ended: what its receipt is made from."""

    succeeded: bool
    gas_used: Natural
    created: AddressBytes | None = None
    logs: tuple[tuple[AddressBytes, Topics, bytes], ...] = ()
    l2_to_l1_logs: tuple[Packed, ...] = ()
    """Its L2-to-L1 logs, packed, with the transaction's place in the block for its number."""


class BlockRecord(RecordPart, frozen=True):
    """A sealed block with its outcomes and changes; enough to apply it, or to execute it again."""

    header_rlp: bytes
    transactions: tuple[tuple[NotEmpty, AddressBytes], ...]
    """The raw transactions, each with its sender."""
    results: tuple[TransactionResult, ...]
    changes: tuple[StoredChange, ...]
    codes: tuple[bytes, ...]
    edits: tuple[StoredChange, ...] = ()
    """What a developer changed by hand before the first transaction; `changes` cover it too."""

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Read the bytes that `encode` writes, and no others."""
        if not data or data[0] != VERSION:
            raise MalformedValue(f"a record of version {VERSION} is expected, got {data[:1].hex()}")
        try:
            record: Self = _decoder.decode(memoryview(data)[1:])  # type: ignore[assignment]
        except msgspec.DecodeError as error:
            raise MalformedValue(f"a record is not readable: {error}") from error
        if len(record.transactions) != len(record.results):
            counts = f"{len(record.transactions)} transactions and {len(record.results)} outcomes"
            raise MalformedValue(f"a record has {counts}")
        # MessagePack has several ways to write a number or a length; a record has one.
        if record.encode() != data:
            raise MalformedValue("a record is not written in the shortest way")
        return record

    def encode(self) -> bytes:
        """Return the version, then the fields in MessagePack."""
        return _VERSION_BYTE + _encoder.encode(self)

    def header(self) -> Header:
        """Return the header."""
        return Header.decode(self.header_rlp)

    def transaction(self, index: int) -> Transaction:
        """Return the transaction at `index`."""
        raw, sender = self.transactions[index]
        return load(raw, Address(sender))

    def transaction_hash(self, index: int) -> Hash32:
        """Return the hash of the transaction at `index`, without reading more of it than needed."""
        raw, _ = self.transactions[index]
        if raw[0] in _HASHED_BY_CONTENT:
            return self.transaction(index).hash
        return Hash32(keccak256(raw))

    def priority_count(self) -> int:
        """Return how many of the transactions users asked for on L1."""
        return sum(raw[0] in PRIORITY_TYPES for raw, _ in self.transactions)

    def receipts(self) -> Iterator[Receipt]:
        """Yield the receipts that the header's root commits to."""
        cumulative = 0
        for (raw, _), outcome in zip(self.transactions, self.results, strict=True):
            cumulative += outcome.gas_used
            yield Receipt.of(
                transaction_type(raw),
                succeeded=outcome.succeeded,
                cumulative_gas_used=cumulative,
                logs=tuple(logs_of(outcome)),
            )


def _as_bytes(value: object) -> bytes:
    """Return an address or a hash as the bytes it is; MessagePack knows no kinds of them."""
    if isinstance(value, bytes):
        return bytes(value)
    raise TypeError(f"a record has no place for {type(value).__name__}")


_VERSION_BYTE: Final = bytes([VERSION])
_encoder: Final = msgspec.msgpack.Encoder(enc_hook=_as_bytes)
_decoder: Final = msgspec.msgpack.Decoder(BlockRecord)


def transaction_type(raw: bytes) -> int:
    """Return the type of an encoded transaction; a legacy one starts with a list."""
    first = raw[0]
    return 0 if 0xC0 <= first < 0xFE else first


def logs_of(outcome: TransactionResult) -> Iterator[Log]:
    """Yield the events of a transaction."""
    for address, topics, data in outcome.logs:
        yield Log(address=Address(address), topics=tuple(map(Hash32, topics)), data=data)


def messages_of(outcome: TransactionResult) -> Iterator[L2ToL1Log]:
    """Yield the L2-to-L1 logs of a transaction."""
    return map(L2ToL1Log.unpack, outcome.l2_to_l1_logs)


def stored_changes(changes: Changes) -> tuple[StoredChange, ...]:
    """Return what a record keeps of `changes`."""
    return tuple(
        StoredChange(
            change.address,
            None if (after := change.after) is None else stored_account(after),
            change.destroyed,
            tuple(
                (slot, value.lstrip(b"\0")) for slot, (_, value) in sorted(change.storage.items())
            ),
        )
        for change in changes.accounts
    )


def stored_account(account: Account) -> StoredAccount:
    """Return an account in its stored form."""
    balance = account.balance
    stored_balance = balance.to_bytes(-(-balance.bit_length() // 8))
    return StoredAccount(account.nonce, stored_balance, account.code_hash)
