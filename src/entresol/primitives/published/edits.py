"""Published edits: the accounts that a developer changed before the first transaction of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol._native import keccak256
from entresol.errors import NotPublishable
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.published import writer
from entresol.primitives.published.reader import Reader
from entresol.primitives.records import StoredAccount, StoredChange
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_EXISTS: Final = 1
_DESTROYED: Final = 2
_HAS_CODE: Final = 4
_HAS_SLOTS: Final = 8
_FLAGS: Final = _EXISTS | _DESTROYED | _HAS_CODE | _HAS_SLOTS
_LEAST_ACCOUNT: Final = Address.size + 1
_LEAST_SLOT: Final = Hash32.size + 1
_LEAST_CODE: Final = 2


class PublishedEdits(msgspec.Struct, frozen=True):
    """The changes of accounts, by ascending address, and the code that they introduce, by ascending hash."""

    changes: tuple[StoredChange, ...]
    codes: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, changes: Iterable[StoredChange], codes: Iterable[bytes]) -> Self:
        """Return the edits of a block, of which some of these codes are; an account without code needs none."""
        edits = tuple(sorted(changes, key=lambda it: it.address))
        code_of = {keccak256(code): code for code in codes}
        used = {_code_hash(edit) for edit in edits}
        return cls(edits, tuple(code for key, code in sorted(code_of.items()) if key in used))

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Decode what `encode` writes; reject any other encoding."""
        reader = Reader(data, "edits")
        found = cls.read(reader)
        reader.end()
        return found

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read what `encode` writes; what follows it is another value."""
        count = reader.count("accounts", _LEAST_ACCOUNT)
        changes = tuple(_read_changes(reader, count))
        count = reader.count("codes", _LEAST_CODE, lowest=0)
        codes = tuple(_read_codes(reader, count, {_code_hash(change) for change in changes}))
        return cls(changes, codes)

    def encode(self) -> bytes:
        """Return the only encoding; raise `NotPublishable` for values that it cannot hold."""
        writer.check_ascending([change.address for change in self.changes], "edits.accounts")
        hashes = [keccak256(code) for code in self.codes]
        writer.check_ascending(hashes, "edits.codes")
        if not {*hashes} <= {_code_hash(change) for change in self.changes}:
            raise NotPublishable("edits.codes", "no account of the edits has this code")
        return b"".join(
            (
                writer.varint(len(self.changes), "edits.accounts", lowest=1),
                *map(_encode_change, self.changes),
                writer.varint(len(self.codes), "edits.codes"),
                *(writer.string(code, "edits.codes", lowest=1) for code in self.codes),
            )
        )

    def by_hash(self) -> EditsByHash:
        """Return what is published of edits that are larger than a batch."""
        encoded = self.encode()
        return EditsByHash(Hash32(keccak256(encoded)), len(encoded))


class EditsByHash(msgspec.Struct, frozen=True):
    """Hash and length of the encoding of edits that are too large to be published."""

    hash: Hash32
    size: int

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read what `encode` writes."""
        return cls(reader.fixed(Hash32, "hash"), reader.varint("size", lowest=1))

    def encode(self) -> bytes:
        """Return the hash, then the length."""
        return writer.fixed(self.hash, Hash32.size, "edits.hash") + writer.varint(
            self.size, "edits.size", lowest=1
        )


def _read_changes(reader: Reader, count: int) -> Iterator[StoredChange]:
    last = b""
    for index in range(count):
        with reader.within(f"accounts[{index}]"):
            begin, address = reader.offset, reader.take(Address.size, "address")
            if address <= last:
                raise reader.unreadable("address", "addresses ascend", offset=begin)
            last = address
            yield _read_change(reader, address)


def _read_change(reader: Reader, address: bytes) -> StoredChange:
    begin, flags = reader.offset, reader.flags("flags", _FLAGS)
    if flags & (_HAS_CODE | _HAS_SLOTS) and not flags & _EXISTS:
        raise reader.unreadable("flags", "a deleted account has no code and no slots", offset=begin)
    account = _read_account(reader, has_code=bool(flags & _HAS_CODE)) if flags & _EXISTS else None
    slots = tuple(_read_slots(reader)) if flags & _HAS_SLOTS else ()
    return StoredChange(address, account, bool(flags & _DESTROYED), slots)


def _read_account(reader: Reader, *, has_code: bool) -> StoredAccount:
    nonce, balance = reader.varint("nonce"), reader.word("balance")
    if not has_code:
        return StoredAccount(nonce, balance, EMPTY_CODE_HASH)
    begin, code_hash = reader.offset, reader.take(Hash32.size, "code_hash")
    if code_hash == EMPTY_CODE_HASH:
        raise reader.unreadable("code_hash", "that of no code is not written", offset=begin)
    return StoredAccount(nonce, balance, code_hash)


def _read_slots(reader: Reader) -> Iterator[tuple[bytes, bytes]]:
    last = b""
    for index in range(reader.count("slots", _LEAST_SLOT)):
        begin, slot = reader.offset, reader.take(Hash32.size, f"slots[{index}]")
        if slot <= last:
            raise reader.unreadable(f"slots[{index}]", "slots ascend", offset=begin)
        last = slot
        yield slot, reader.word(f"slots[{index}].value")


def _read_codes(reader: Reader, count: int, used: set[bytes]) -> Iterator[bytes]:
    last = b""
    for index in range(count):
        begin, code = reader.offset, reader.string(f"codes[{index}]", lowest=1)
        code_hash = keccak256(code)
        if code_hash <= last:
            raise reader.unreadable(f"codes[{index}]", "hashes of codes ascend", offset=begin)
        if code_hash not in used:
            raise reader.unreadable(f"codes[{index}]", "no account has this code", offset=begin)
        last = code_hash
        yield code


def _encode_change(change: StoredChange) -> bytes:
    account, has_code = change.account, bool(_code_hash(change))
    flags = (account is not None) * _EXISTS | change.destroyed * _DESTROYED
    flags |= has_code * _HAS_CODE | bool(change.slots) * _HAS_SLOTS
    parts = [writer.fixed(change.address, Address.size, "edits.address"), bytes((flags,))]
    if account is not None:
        parts.append(writer.varint(account.nonce, "edits.nonce"))
        parts.append(writer.word(account.balance, "edits.balance"))
        if has_code:
            parts.append(writer.fixed(account.code_hash, Hash32.size, "edits.code_hash"))
    if change.slots:
        if account is None:
            raise NotPublishable("edits.slots", "a deleted account has none")
        writer.check_ascending([slot for slot, _ in change.slots], "edits.slots")
        parts.append(writer.varint(len(change.slots), "edits.slots"))
        for slot, value in change.slots:
            parts.append(writer.fixed(slot, Hash32.size, "edits.slots"))
            parts.append(writer.word(value, "edits.slots.value"))
    return b"".join(parts)


def _code_hash(change: StoredChange) -> bytes:
    """Return the hash of an account's code; empty without any."""
    account = change.account
    return b"" if account is None or account.code_hash == EMPTY_CODE_HASH else account.code_hash
