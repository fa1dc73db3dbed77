"""The published genesis: the rules, the header and the state that a chain begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol._native import keccak256
from entresol.errors import NotPublishable, UnreadableData
from entresol.primitives.published import writer
from entresol.primitives.published.compression import compress, decompress
from entresol.primitives.published.limits import MAX_DECODED_BYTES, MAX_GENESIS_BYTES
from entresol.primitives.published.reader import Reader
from entresol.primitives.published.rules import BlockRules
from entresol.primitives.values import Address, Hash32, Nonce8

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

VERSION: Final = 1

_HAS_NONCE: Final = 1
_HAS_BALANCE: Final = 2
_HAS_CODE: Final = 4
_HAS_SLOTS: Final = 8
_FLAGS: Final = _HAS_NONCE | _HAS_BALANCE | _HAS_CODE | _HAS_SLOTS
_LEAST_ACCOUNT: Final = Address.size + 1
_LEAST_SLOT: Final = Hash32.size + 2


class PublishedAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An account of a genesis; one that has nothing is part of the state all the same."""

    address: Address
    nonce: int = 0
    balance: int = 0
    code: bytes = b""
    slots: tuple[tuple[Hash32, Hash32], ...] = ()
    """The slots that are not zero, ascending."""


class PublishedGenesis(msgspec.Struct, frozen=True, kw_only=True):
    """A genesis; fields of the header that are not here have their values in every genesis."""

    rules: BlockRules
    number: int
    timestamp: int
    gas_limit: int
    base_fee: int
    beneficiary: Address
    extra_data: bytes
    difficulty: int
    mix_hash: Hash32
    nonce: Nonce8
    accounts: tuple[PublishedAccount, ...]
    """By ascending address."""

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Decode what `encode` writes; reject any other encoding."""
        reader = Reader(data, "genesis")
        reader.version(VERSION)
        with reader.within("rules"):
            rules = BlockRules.read(reader)
        found = cls(
            rules=rules,
            number=reader.varint("number"),
            timestamp=reader.varint("timestamp"),
            gas_limit=reader.varint("gas_limit"),
            base_fee=reader.varint("base_fee"),
            beneficiary=reader.fixed(Address, "beneficiary"),
            extra_data=reader.string("extra_data"),
            difficulty=int.from_bytes(reader.word("difficulty")),
            mix_hash=reader.fixed(Hash32, "mix_hash"),
            nonce=reader.fixed(Nonce8, "nonce"),
            accounts=tuple(_read_accounts(reader)),
        )
        reader.end()
        return found

    def encode(self) -> bytes:
        """Return the only encoding; raise `NotPublishable` for values that it cannot hold."""
        writer.check_ascending([account.address for account in self.accounts], "genesis.accounts")
        return b"".join(
            (
                bytes((VERSION,)),
                self.rules.encode(),
                writer.varint(self.number, "genesis.number"),
                writer.varint(self.timestamp, "genesis.timestamp"),
                writer.varint(self.gas_limit, "genesis.gas_limit"),
                writer.varint(self.base_fee, "genesis.base_fee"),
                writer.fixed(self.beneficiary, Address.size, "genesis.beneficiary"),
                writer.string(self.extra_data, "genesis.extra_data"),
                writer.number(self.difficulty, "genesis.difficulty"),
                writer.fixed(self.mix_hash, Hash32.size, "genesis.mix_hash"),
                writer.fixed(self.nonce, Nonce8.size, "genesis.nonce"),
                writer.varint(len(self.accounts), "genesis.accounts"),
                *map(_encode_account, self.accounts),
            )
        )

    def hash(self) -> Hash32:
        """Return the hash of the encoding, which L1 has: that of a file, too, and of any compression."""
        return Hash32(keccak256(self.encode()))

    def publish(self) -> bytes | None:
        """Return the bytes to publish; None if they are too many, so that a file has to be given instead."""
        encoded = self.encode()
        if len(encoded) > MAX_DECODED_BYTES:
            return None
        published = compress(encoded)
        return published if len(published) <= MAX_GENESIS_BYTES else None


def read_genesis_data(parts: Sequence[bytes], expected: Hash32) -> PublishedGenesis:
    """Read the genesis from the parts that were published, and compare its hash with L1's."""
    published = b"".join(parts)
    encoded = decompress(published, max_bytes=MAX_GENESIS_BYTES)
    found = keccak256(encoded)
    if found != expected:
        raise UnreadableData("genesis.hash", f"0x{expected.hex()} expected, got 0x{found.hex()}")
    return PublishedGenesis.decode(encoded)


def has_genesis_hash(expected: Hash32) -> Callable[[bytes], bool]:
    """Return what accepts, of published bytes, those of the genesis with this hash, however they are compressed."""

    def is_right(published: bytes) -> bool:
        try:
            encoded = decompress(published, max_bytes=MAX_GENESIS_BYTES)
        except UnreadableData:
            return False
        return keccak256(encoded) == expected

    return is_right


def _read_accounts(reader: Reader) -> Iterator[PublishedAccount]:
    last = b""
    for index in range(reader.count("accounts", _LEAST_ACCOUNT, lowest=0)):
        with reader.within(f"accounts[{index}]"):
            begin, address = reader.offset, reader.fixed(Address, "address")
            if address <= last:
                raise reader.unreadable("address", "addresses ascend", offset=begin)
            last = address
            yield _read_account(reader, address)


def _read_account(reader: Reader, address: Address) -> PublishedAccount:
    flags = reader.flags("flags", _FLAGS)
    return PublishedAccount(
        address=address,
        nonce=reader.varint("nonce", lowest=1) if flags & _HAS_NONCE else 0,
        balance=int.from_bytes(_read_nonzero(reader, "balance")) if flags & _HAS_BALANCE else 0,
        code=reader.string("code", lowest=1) if flags & _HAS_CODE else b"",
        slots=tuple(_read_slots(reader)) if flags & _HAS_SLOTS else (),
    )


def _read_slots(reader: Reader) -> Iterator[tuple[Hash32, Hash32]]:
    last = b""
    for index in range(reader.count("slots", _LEAST_SLOT)):
        begin, slot = reader.offset, reader.fixed(Hash32, f"slots[{index}]")
        if slot <= last:
            raise reader.unreadable(f"slots[{index}]", "slots ascend", offset=begin)
        last = slot
        value = _read_nonzero(reader, f"slots[{index}].value")
        yield slot, Hash32(value.rjust(Hash32.size, b"\0"))


def _read_nonzero(reader: Reader, field: str) -> bytes:
    begin, found = reader.offset, reader.word(field)
    if not found:
        raise reader.unreadable(field, "zero is not written", offset=begin)
    return found


def _encode_account(account: PublishedAccount) -> bytes:
    flags = bool(account.nonce) * _HAS_NONCE | bool(account.balance) * _HAS_BALANCE
    flags |= bool(account.code) * _HAS_CODE | bool(account.slots) * _HAS_SLOTS
    parts = [writer.fixed(account.address, Address.size, "genesis.address"), bytes((flags,))]
    if account.nonce:
        parts.append(writer.varint(account.nonce, "genesis.nonce"))
    if account.balance:
        parts.append(writer.number(account.balance, "genesis.balance"))
    if account.code:
        parts.append(writer.string(account.code, "genesis.code"))
    if account.slots:
        parts.append(_encode_slots(account.slots))
    return b"".join(parts)


def _encode_slots(slots: Sequence[tuple[Hash32, Hash32]]) -> bytes:
    writer.check_ascending([slot for slot, _ in slots], "genesis.slots")
    parts = [writer.varint(len(slots), "genesis.slots")]
    for slot, value in slots:
        digits = value.lstrip(b"\0")
        if not digits or len(value) != Hash32.size:
            raise NotPublishable("genesis.slots", "a value is 32 bytes, and not zero")
        parts.append(writer.fixed(slot, Hash32.size, "genesis.slots"))
        parts.append(writer.word(digits, "genesis.slots"))
    return b"".join(parts)
