"""The derived rows of a block: indexes, state history, codes and trie nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from entresol._native import decode_transaction, decode_zk_transaction, keccak256
from entresol.primitives.transactions import load, may_be_unsigned
from entresol.primitives.transactions.priority import L1_TYPES, PRIORITY_TYPES
from entresol.primitives.values import Address
from entresol.storage import tables
from entresol.storage.log_index import index_keys
from entresol.storage.nonempty_blocks import has_contents
from entresol.storage.open_logs import open_rows
from entresol.storage.published_bytecodes import published_by

if TYPE_CHECKING:
    from entresol.primitives.records import BlockRecord, StoredChange
    from entresol.storage.database.key_value import KeyValueStore, Row

_NATIVE_TYPES = frozenset({1, 2, 3, 4})


def rows_of(db: KeyValueStore, record: BlockRecord, number: int, nodes: Iterable[Row]) -> list[Row]:
    """Return every row that is derived from the record of block `number`."""
    block_hash, key = keccak256(record.header_rlp), tables.number(number)
    rows = [
        (tables.HASH_OF_NUMBER + key, block_hash),
        (tables.NUMBER_OF_HASH + block_hash, key),
        *[(tables.NODE + node_hash, node) for node_hash, node in nodes],
    ]
    if not has_contents(record):
        return rows
    # Computed once, because it decodes the transactions that may have factory dependencies.
    published = [(name, code, keccak256(code)) for name, code in published_by(record)]
    codes = {code_hash: code for _, code, code_hash in published}
    return [
        *rows,
        *_contents_rows(db, record, number),
        *((tables.published_key(name, number), code_hash) for name, _, code_hash in published),
        *((tables.CODE + code_hash, code) for code_hash, code in codes.items()),
    ]


def keys_of(db: KeyValueStore, record: BlockRecord, number: int) -> Iterator[bytes]:
    """Yield the keys of the rows that block `number` shares with no other: not those of codes and nodes."""
    yield tables.NUMBER_OF_HASH + keccak256(record.header_rlp)
    if not has_contents(record):
        return
    for index, (raw, sender) in enumerate(record.transactions):
        for key, _ in _transaction_rows(raw, sender, number, index):
            yield key
    for change in record.changes:
        yield tables.account_key(change.address, number)
        yield from _slot_keys(db, change, number)
    yield from index_keys(record, number)
    yield from (key for key, _ in open_rows(record, number))
    for name, _ in published_by(record):
        yield tables.published_key(name, number)


def _contents_rows(db: KeyValueStore, record: BlockRecord, number: int) -> list[Row]:
    rows: list[Row] = []
    for index, (raw, sender) in enumerate(record.transactions):
        rows += _transaction_rows(raw, sender, number, index)
    for change in record.changes:
        rows.append(
            (tables.account_key(change.address, number), tables.pack_account(change.account))
        )
        if change.destroyed or change.slots:
            rows += _slot_rows(db, change, number)
    rows += [(key, b"") for key in index_keys(record, number)]
    rows += open_rows(record, number)
    return rows


def _slot_keys(db: KeyValueStore, change: StoredChange, number: int) -> Iterator[bytes]:
    if change.destroyed:
        # Which slots there were depended on the blocks before it, and others may be there now.
        prefix = tables.SLOT + change.address
        yield from (key for key, _ in db.scan(prefix) if tables.block_of(key) == number)
    else:
        for slot, _ in change.slots:
            yield tables.slot_key(change.address, slot, number)


def _transaction_rows(raw: bytes, sender: bytes, number: int, index: int) -> list[Row]:
    location = tables.pack_index(index)
    is_native = raw[0] in _NATIVE_TYPES or 0xC0 <= raw[0] < 0xFE
    if is_native and not may_be_unsigned(raw):
        # Costs a quarter of decoding the whole transaction.
        decoded = decode_transaction(raw, sender=sender)
        transaction_hash, nonce = decoded.hash, decoded.nonce
    elif (fields := decode_zk_transaction(raw, recovers=False)) is not None:
        (nonce, *_), _, _, transaction_hash, _ = fields
    else:
        transaction = load(raw, Address(sender))
        transaction_hash, nonce = transaction.hash, transaction.payload.nonce
    rows = [(tables.location_key(transaction_hash, number), location)]
    if raw[0] in PRIORITY_TYPES:
        # The nonce of a priority transaction is its id on L1.
        rows.append((tables.priority_key(nonce, number), location))
    elif raw[0] not in L1_TYPES:
        rows.append((tables.nonce_key(sender, nonce, number), transaction_hash))
    return rows


def _slot_rows(db: KeyValueStore, change: StoredChange, number: int) -> Iterator[Row]:
    if change.destroyed:
        for slot in _live_slots(db, change.address, number):
            yield tables.slot_key(change.address, slot, number), b""
    for slot, value in change.slots:
        yield tables.slot_key(change.address, slot, number), value


def _live_slots(db: KeyValueStore, address: bytes, number: int) -> Iterator[bytes]:
    """Yield the slots of `address` that were nonzero before block `number`."""
    prefix = tables.SLOT + address
    live: dict[bytes, bool] = {}
    for key, value in db.scan(prefix):
        if tables.block_of(key) < number:
            live[key[len(prefix) : -tables.NUMBER_SIZE]] = bool(value)
    return (slot for slot, is_live in live.items() if is_live)
