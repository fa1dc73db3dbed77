"""Key layout of the database, with big-endian numbers that sort, and tables of single rows; docs/storage.md has it all."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import Account
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.records import StoredAccount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.storage.database.key_value import KeyValueStore, Row


RECORD: Final = b"r"
HASH_OF_NUMBER: Final = b"b"
NUMBER_OF_HASH: Final = b"h"
TRANSACTION_LOCATION: Final = b"t"
HASH_OF_NONCE: Final = b"n"
ACCOUNT: Final = b"a"
SLOT: Final = b"s"
CODE: Final = b"c"
PUBLISHED: Final = b"v"
NODE: Final = b"p"
LOGS: Final = b"l"
PRIORITY: Final = b"q"
OPEN_LOGS: Final = b"o"
CLOSED_LOGS: Final = b"y"
BATCH: Final = b"g"
BATCH_LOGS: Final = b"w"
BATCH_DATA: Final = b"D"
BATCH_POSITION: Final = b"k"
DERIVED_AT: Final = b"L"
SETTLED: Final = b"e"
BOOKS: Final = b"u"
BOOKED_AT: Final = b"z"
PRICES: Final = b"f"
RULES: Final = b"R"
ROOT: Final = b"i"
BATCH_PATH: Final = b"j"
PATHS: Final = b"x"
CLEARED: Final = b"d"
REMOTE_CODE: Final = b"C"
META: Final = b"m"

HEAD: Final = META + b"head"
IDENTITY: Final = META + b"genesis"
CHAIN_ID: Final = META + b"chainid"
FIRST: Final = META + b"first"
REBUILDING: Final = META + b"rebuilding"
PENDING_SETTLEMENT: Final = META + b"outstanding"
DEPOSITS: Final = META + b"deposits"
ROOTS: Final = META + b"roots"
LOADED: Final = META + b"loaded"
POSITION: Final = META + b"position"
CONFIRMED: Final = META + b"confirmed"
INDEX: Final = META + b"index"
ANCHOR: Final = META + b"anchor"
DERIVING: Final = META + b"deriving"
FINAL_BATCH: Final = META + b"finalbatch"
ACCEPTED: Final = META + b"accepted"
ALARM: Final = META + b"alarm"
ALARM_COUNT: Final = META + b"alarmcount"

# The tables that can be rebuilt from the records.
DERIVED: Final = (
    HASH_OF_NUMBER,
    NUMBER_OF_HASH,
    TRANSACTION_LOCATION,
    HASH_OF_NONCE,
    ACCOUNT,
    SLOT,
    CODE,
    PUBLISHED,
    NODE,
    LOGS,
    PRIORITY,
    OPEN_LOGS,
    CLEARED,
)

NUMBER_SIZE: Final = 8
INDEX_SIZE: Final = 4
LAST_NUMBER: Final = b"\xff" * NUMBER_SIZE

# Kinds of keys in the log index: an emitting address, a topic at a position, or any log.
ANY_LOG: Final = b"\xff"
ADDRESS_OF_LOG: Final = b"\x00"


_ADDRESS_SIZE = 20

_SLOT_SIZE = 32


def number(value: int) -> bytes:
    """Return a block number as part of a key."""
    return value.to_bytes(NUMBER_SIZE)


def record_key(block: int) -> bytes:
    """Return the key of a block's record."""
    return RECORD + number(block)


def account_key(address: bytes, block: int) -> bytes:
    """Return the key of an account as of `block`."""
    return ACCOUNT + address + number(block)


def slot_key(address: bytes, slot: bytes, block: int) -> bytes:
    """Return the key of a slot as of `block`."""
    return SLOT + address + slot + number(block)


def cleared_key(address: bytes, block: int) -> bytes:
    """Return the key that says that `block` cleared the storage of an account of a fork."""
    return CLEARED + address + number(block)


def location_key(transaction_hash: bytes, block: int) -> bytes:
    """Return the key of a transaction's location in `block`."""
    return TRANSACTION_LOCATION + transaction_hash + number(block)


def nonce_key(sender: bytes, nonce: int, block: int) -> bytes:
    """Return the key of the transaction that used a nonce in `block`."""
    return HASH_OF_NONCE + sender + number(nonce) + number(block)


def published_key(name: bytes, block: int) -> bytes:
    """Return the key of the bytecode that `block` published under the hash `name`."""
    return PUBLISHED + name + number(block)


def priority_key(priority_id: int, block: int) -> bytes:
    """Return the key of a priority transaction's location in `block`."""
    return PRIORITY + number(priority_id) + number(block)


def topic_of_log(position: int) -> bytes:
    """Return the log index prefix of topics at `position`."""
    return bytes([1 + position])


def block_of(key: bytes) -> int:
    """Return the block number that a key ends with."""
    return int.from_bytes(key[-NUMBER_SIZE:])


def pack_index(index: int) -> bytes:
    """Return the row of a transaction's index in its block."""
    return index.to_bytes(INDEX_SIZE)


def pack_account(account: StoredAccount | None) -> bytes:
    """Return an account's row: nothing, or a flag for code, the nonce, the code hash if there is code, the balance."""
    if account is None:
        return b""
    has_code = account.code_hash != EMPTY_CODE_HASH
    code_hash = account.code_hash if has_code else b""
    return bytes([has_code]) + account.nonce.to_bytes(8) + code_hash + account.balance


def unpack_account(row: bytes) -> Account | None:
    """Return the account of an account's row."""
    if not row:
        return None
    nonce = int.from_bytes(row[1:9])
    if row[0]:
        return Account(nonce, int.from_bytes(row[41:]), row[9:41])
    return Account(nonce, int.from_bytes(row[9:]))


class StateKeys:
    """Lists the keys of the state; those that were deleted since are among them."""

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db

    def addresses(self) -> Iterator[bytes]:
        """Yield the addresses of all accounts that any block has changed."""
        return self._distinct(ACCOUNT, _ADDRESS_SIZE)

    def slots(self, address: bytes) -> Iterator[bytes]:
        """Yield the slots of an account that any block has changed."""
        return self._distinct(SLOT + address, _SLOT_SIZE)

    def _distinct(self, prefix: bytes, size: int) -> Iterator[bytes]:
        """Yield what follows `prefix` in the keys; the history of each is skipped by a seek."""
        start = prefix
        while (found := self._db.first_at_least(start, prefix)) is not None:
            key = found[0][: len(prefix) + size]
            yield key[len(prefix) :]
            start = key + LAST_NUMBER + b"\0"


class GenesisTable:
    """The hash of the genesis as it was given, its block number, and the chain id, which no block commits to."""

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db
        self.refresh()

    def refresh(self) -> None:
        """Read the block number again, after the chain was created or replaced."""
        row = self._db.get(FIRST)
        self.number = 0 if row is None else int.from_bytes(row)
        """The number of the genesis block: 0 unless the chain was started with another one."""

    @property
    def identity(self) -> bytes | None:
        """The hash that identifies the chain's genesis."""
        return self._db.get(IDENTITY)

    @property
    def chain_id(self) -> int:
        """The chain id."""
        return int.from_bytes(self._db.get(CHAIN_ID) or b"")

    @staticmethod
    def rows_of(identity: bytes, chain_id: int, first: int) -> list[Row]:
        """Return the rows of a new chain whose genesis has this block number."""
        rows = [(IDENTITY, identity), (CHAIN_ID, number(chain_id))]
        return [*rows, (FIRST, number(first))] if first else rows


DIGEST_SIZE: Final = 32


class LogPosition(NamedTuple):
    """The last entry that was applied: its number in the log, and the digest of the log up to it."""

    seq: int
    digest: bytes


START: Final = LogPosition(0, bytes(DIGEST_SIZE))
"""Before the first entry."""


class PositionTable:
    """The position of a store in the canonical log, and what L1 had confirmed there."""

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db
        self._position: LogPosition | None = None

    def get(self) -> LogPosition:
        """Return the position; `START` if nothing was applied."""
        if self._position is None:
            self._position = self._read()
        return self._position

    def _read(self) -> LogPosition:
        row = self._db.get(POSITION)
        if row is None:
            return START
        size = NUMBER_SIZE
        return LogPosition(int.from_bytes(row[:size]), row[size:])

    @contextlib.contextmanager
    def advancing(self, position: LogPosition) -> Iterator[None]:
        """Apply an entry: the one write within takes the position along, or it is written alone at the end."""
        row = (POSITION, number(position.seq) + position.digest)
        self._db.along = [row]
        try:
            yield
            if self._db.along:
                self._db.write([])
            self._position = position
        finally:
            self._db.along = []

    def confirmed(self) -> tuple[int, int] | None:
        """Return the last safe and the last finalized block; None if the log has none."""
        row = self._db.get(CONFIRMED)
        if row is None:
            return None
        return int.from_bytes(row[:NUMBER_SIZE]), int.from_bytes(row[NUMBER_SIZE:])

    def set_confirmed(self, safe: int, finalized: int) -> None:
        """Persist the last safe and the last finalized block."""
        self._db.write([(CONFIRMED, number(safe) + number(finalized))])
