"""Block records: a sealed block with its results and state changes, in a canonical encoding."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Final, Self, TypeAlias

import msgspec

from entresol._native import RecordLayout, stored_transaction_hash
from entresol.errors import MalformedValue
from entresol.primitives.headers import Header, hash_of_header
from entresol.primitives.l2_to_l1_logs import PACKED_FIELDS, PACKED_SIZE, L2ToL1Log
from entresol.primitives.receipts import MAX_TOPICS, Log, Receipt
from entresol.primitives.transactions import Transaction, load
from entresol.primitives.transactions.priority import PRIORITY_TYPES
from entresol.primitives.transactions.system import SYSTEM_TYPE, SystemTransaction
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol._native import Account, Changes
    from entresol.primitives.interop_roots import InteropRoot

VERSION: Final = 1

AddressBytes: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=20, max_length=20)]
HashBytes: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
NumberBytes: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=32)]
NotEmpty: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=1)]
Packed: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=PACKED_SIZE, max_length=PACKED_SIZE)]
Topics: TypeAlias = Annotated[tuple[HashBytes, ...], msgspec.Meta(max_length=MAX_TOPICS)]
Natural: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class RecordPart(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A part of a record: encoded as an array of exactly its fields."""


class StoredAccount(RecordPart, frozen=True):
    """An account after a block; the balance is big-endian without leading zeros."""

    nonce: Natural
    balance: NumberBytes
    code_hash: HashBytes


class StoredChange(RecordPart, frozen=True):
    """An account's changes in a block, without leading zeros; if `destroyed`, its storage is deleted before `slots`."""

    address: AddressBytes
    account: StoredAccount | None
    destroyed: bool = False
    slots: tuple[tuple[HashBytes, NumberBytes], ...] = ()


class TransactionResult(RecordPart, frozen=True):
    """The result of a transaction, from which its receipt is built."""

    succeeded: bool
    gas_used: Natural
    created: AddressBytes | None = None
    logs: tuple[tuple[AddressBytes, Topics, bytes], ...] = ()
    l2_to_l1_logs: tuple[Packed, ...] = ()
    """Packed L2-to-L1 logs, with the transaction's index in the block as `tx_number`."""


class BlockRecord(RecordPart, frozen=True, dict=True):
    """A sealed block with its results and changes: enough to apply it or to re-execute it."""

    header_rlp: bytes
    transactions: tuple[tuple[NotEmpty, AddressBytes], ...]
    """The raw transactions, each with its sender."""
    results: tuple[TransactionResult, ...]
    changes: tuple[StoredChange, ...]
    codes: tuple[bytes, ...]
    edits: tuple[StoredChange, ...] = ()
    """State edits before the first transaction; `changes` include them."""

    def with_header(self, header: Header) -> Self:
        """Return the record with the header that `header_rlp` encodes, so that it is not decoded."""
        self.__dict__["_header"] = header
        return self

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Decode what `encode` writes; reject any other encoding."""
        if not data or data[0] != VERSION:
            raise MalformedValue(f"a record of version {VERSION} is expected, got {data[:1].hex()}")
        try:
            record: Self = _decoder.decode(memoryview(data)[1:])  # type: ignore[assignment]
        except msgspec.DecodeError as error:
            raise MalformedValue(f"a record is not readable: {error}") from error
        if len(record.transactions) != len(record.results):
            counts = f"{len(record.transactions)} transactions and {len(record.results)} results"
            raise MalformedValue(f"a record has {counts}")
        # MessagePack can encode a number or a length in several ways; a record allows the shortest.
        if record.encode() != data:
            raise MalformedValue("a record is not written in the shortest way")
        return record

    def encode(self) -> bytes:
        """Return the version, then the fields in MessagePack."""
        return _VERSION_BYTE + _encoder.encode(self)

    def header(self) -> Header:
        """Return the header, which is decoded once."""
        return self._header

    def hash(self) -> Hash32:
        """Return the block hash, which is computed on every call."""
        return hash_of_header(self.header_rlp)

    @cached_property
    def _header(self) -> Header:
        return Header.decode(self.header_rlp)

    def transaction(self, index: int) -> Transaction:
        """Return the transaction at `index`."""
        raw, sender = self.transactions[index]
        return load(raw, Address(sender))

    def decoded(self) -> list[Transaction]:
        """Return all transactions."""
        return [self.transaction(index) for index in range(len(self.transactions))]

    def transaction_hash(self, index: int) -> Hash32:
        """Return the hash of the transaction at `index`, decoding it only if necessary."""
        found = stored_transaction_hash(*self.transactions[index])
        return self.transaction(index).hash if found is None else Hash32(found)

    def priority_count(self) -> int:
        """Return the number of priority transactions."""
        return sum(raw[0] in PRIORITY_TYPES for raw, _ in self.transactions)

    @property
    def has_system_transaction(self) -> bool:
        """Whether it has a system transaction, which is the first."""
        return bool(self.transactions) and self.transactions[0][0][0] == SYSTEM_TYPE

    def receipts(self) -> Iterator[Receipt]:
        """Yield the receipts that the receipts root commits to."""
        cumulative = 0
        for (raw, _), result in zip(self.transactions, self.results, strict=True):
            cumulative += result.gas_used
            yield Receipt.of(
                transaction_type(raw),
                succeeded=result.succeeded,
                cumulative_gas_used=cumulative,
                logs=tuple(logs_of(result)) if result.logs else (),
            )


LAYOUT: Final = RecordLayout(
    version=VERSION,
    record=BlockRecord.__struct_fields__,
    transaction=("raw", "sender"),
    result=TransactionResult.__struct_fields__,
    log=Log.__struct_fields__,
    message=tuple(PACKED_FIELDS.items()),
)
"""Where the crate finds the fields of a stored record."""


def _as_bytes(value: object) -> bytes:
    """Return an address or a hash as plain bytes, for MessagePack."""
    if isinstance(value, bytes):
        return bytes(value)
    raise TypeError(f"a record cannot contain {type(value).__name__}")


_VERSION_BYTE: Final = bytes([VERSION])
_encoder: Final = msgspec.msgpack.Encoder(enc_hook=_as_bytes)
_decoder: Final = msgspec.msgpack.Decoder(BlockRecord)


def roots_of(record: BlockRecord) -> list[InteropRoot]:
    """Return the roots that a block imports, oldest first."""
    if not record.has_system_transaction:
        return []
    return SystemTransaction.decode(record.transactions[0][0]).roots


def transaction_type(raw: bytes) -> int:
    """Return the type of an encoded transaction; a legacy one starts with an RLP list."""
    first = raw[0]
    return 0 if 0xC0 <= first < 0xFE else first


def logs_of(result: TransactionResult) -> Iterator[Log]:
    """Yield the logs of a transaction."""
    for address, topics, data in result.logs:
        yield Log(address=Address(address), topics=tuple(map(Hash32, topics)), data=data)


def l2_to_l1_logs_of(result: TransactionResult) -> Iterator[L2ToL1Log]:
    """Yield the L2-to-L1 logs of a transaction."""
    return map(L2ToL1Log.unpack, result.l2_to_l1_logs)


def stored_changes(changes: Changes) -> tuple[StoredChange, ...]:
    """Return `changes` in the form of a record."""
    return tuple(
        StoredChange(
            change.address,
            None if (after := change.after) is None else stored_account(after),
            change.destroyed,
            tuple((slot, value.lstrip(b"\0")) for slot, (_, value) in sorted(storage.items()))
            if (storage := change.storage)
            else (),
        )
        for change in changes.accounts
    )


def stored_account(account: Account) -> StoredAccount:
    """Return an account in the form of a record."""
    balance = account.balance
    stored_balance = balance.to_bytes(-(-balance.bit_length() // 8))
    return StoredAccount(account.nonce, stored_balance, account.code_hash)
