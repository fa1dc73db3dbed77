"""The derived rows of a block: indexes, state history, codes and trie nodes; and its prices and rules, if they are new."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import decode_transaction, decode_zk_transaction, keccak256, zk_dependencies
from entresol.errors import MalformedValue, StoreDamaged, UnreadableData
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.bytecode import EVM_VERSION, MAX_EVM_SIZE, eravm_hash, evm_hash, pad_evm
from entresol.primitives.published.rules import BlockRules
from entresol.primitives.transactions import PriorityTransaction, load, may_be_unsigned
from entresol.primitives.transactions.priority import L1_TYPES, PRIORITY_TYPES
from entresol.primitives.transactions.zk import ZK_TYPE
from entresol.primitives.values import Address
from entresol.storage import tables
from entresol.storage.log_index import index_keys, open_rows

if TYPE_CHECKING:
    from pathlib import Path

    from entresol.primitives.records import BlockRecord, StoredChange
    from entresol.storage.database.key_value import KeyValueStore, Row


MAX_NONEMPTY_BLOCKS: Final = 1_000_000
"""How many are remembered, eight bytes each; older blocks count as unknown."""


_WORD: Final = 32

_ODD_WORDS: Final = 2 * _WORD

_EVM_PREFIX: Final = bytes([EVM_VERSION, 0])

_NATIVE_TYPES = frozenset({1, 2, 3, 4})

_PRICE_SIZE: Final = 32

_HIGHEST_PRICE: Final = 2 ** (8 * _PRICE_SIZE) - 1


class NonEmptyBlocks:
    """The numbers of the blocks with contents, among those that were appended since the store was opened."""

    def __init__(
        self, head: int | None, first: int = 0, max_blocks: int = MAX_NONEMPTY_BLOCKS
    ) -> None:
        """Count the blocks from `first`, the genesis, up to `head` as unknown."""
        self._max_blocks = max_blocks
        self.reset(head, first)

    def reset(self, head: int | None, first: int = 0) -> None:
        """Count the blocks from `first`, the genesis, up to `head` as unknown."""
        self._numbers = array("Q")
        self._first = first
        self._known_from = first if head is None else head + 1

    def add(self, number: int, record: BlockRecord) -> None:
        """Add an appended block, if it has contents."""
        if not has_contents(record):
            return
        self._numbers.append(number)
        if len(self._numbers) > self._max_blocks:
            dropped = len(self._numbers) // 2
            self._known_from = self._numbers[dropped - 1] + 1
            del self._numbers[:dropped]

    def above(self, number: int) -> Iterable[int]:
        """Return the blocks above `number` that have contents or are unknown, in order."""
        if self._has_none_above(number):
            return ()
        known = self._numbers[bisect_right(self._numbers, number) :]
        return chain(self._unknown_above(number), known)

    def count_above(self, number: int) -> int:
        """Return how many blocks `above` returns."""
        if self._has_none_above(number):
            return 0
        known = len(self._numbers) - bisect_right(self._numbers, number)
        return known + len(self._unknown_above(number))

    def remove_above(self, number: int) -> None:
        """Remove the blocks above `number`, which were reverted."""
        if not self._has_none_above(number):
            del self._numbers[bisect_right(self._numbers, number) :]
            self._known_from = min(self._known_from, number + 1)

    def _has_none_above(self, number: int) -> bool:
        numbers = self._numbers
        return self._known_from <= number + 1 and (not numbers or numbers[-1] <= number)

    def _unknown_above(self, number: int) -> range:
        return range(max(number + 1, self._first), self._known_from)


def has_contents(record: BlockRecord) -> bool:
    """Return whether a block has transactions or state changes."""
    return bool(record.transactions or record.changes or record.edits or record.codes)


def published_by(record: BlockRecord) -> Iterator[tuple[bytes, bytes]]:
    """Yield the hash and the code of every bytecode that the block publishes.

    Deployed code has two hashes, its keccak and its versioned EVM hash; a factory dependency has the
    hash that it was published under. Code of a genesis that has the form of EraVM bytecode has its hash, too:
    zksync-ethers looks up the testnet paymaster by it.
    """
    for code in record.codes:
        yield keccak256(code), code
        if len(code) <= MAX_EVM_SIZE:
            yield evm_hash(code), code
        if not record.transactions and len(code) % _ODD_WORDS == _WORD:
            yield eravm_hash(code), code
    yield from _factory_deps_of(record)


def _factory_deps_of(record: BlockRecord) -> Iterator[tuple[bytes, bytes]]:
    """Yield the factory dependencies of the block's transactions with their hashes."""
    for raw, sender in record.transactions:
        if raw[0] == ZK_TYPE:
            yield from zk_dependencies(raw)
        elif raw[0] in L1_TYPES:
            payload = load(raw, Address(sender)).payload
            assert isinstance(payload, PriorityTransaction)
            # L1 has checked that they match, and a sealed block cannot be rejected.
            yield from zip(payload.factory_dep_hashes, payload.factory_deps, strict=False)


def as_published(name: bytes, code: bytes) -> bytes:
    """Return the preimage of `name`: a versioned EVM hash is that of padded code."""
    return pad_evm(code) if name.startswith(_EVM_PREFIX) and evm_hash(code) == name else code


def rows_of(db: KeyValueStore, record: BlockRecord, number: int, nodes: Iterable[Row]) -> list[Row]:
    """Return every row that is derived from the record of block `number`."""
    block_hash, key = record.hash(), tables.number(number)
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
    yield tables.NUMBER_OF_HASH + record.hash()
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
    elif raw[0] == ZK_TYPE:
        (nonce, *_), _, transaction_hash, _ = decode_zk_transaction(raw, recovers=False)
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


class Prices(NamedTuple):
    """The price of gas on L1, in wei, of a pubdata byte on L2, in units of its base token, and of ether in these."""

    l1_gas_price: int
    fair_pubdata_price: int
    ether: EtherPrice = EtherPrice()

    def pack(self) -> bytes:
        """Return the prices as a row has them, each at most what fits; that of ether only where it is not paid in."""
        prices = (self.l1_gas_price, self.fair_pubdata_price)
        row = b"".join(min(price, _HIGHEST_PRICE).to_bytes(_PRICE_SIZE) for price in prices)
        return row if self.ether == EtherPrice() else row + self.ether.pack()

    @classmethod
    def unpack(cls, row: bytes) -> Prices:
        """Read what `pack` writes."""
        if len(row) not in (2 * _PRICE_SIZE, 3 * _PRICE_SIZE):
            raise MalformedValue(f"prices take 64 or 96 bytes, got {len(row)}")
        l1_gas_price, fair_pubdata_price = row[:_PRICE_SIZE], row[_PRICE_SIZE : 2 * _PRICE_SIZE]
        prices = int.from_bytes(l1_gas_price), int.from_bytes(fair_pubdata_price)
        ether = row[2 * _PRICE_SIZE :]
        try:
            return cls(*prices, EtherPrice.unpack(ether)) if ether else cls(*prices)
        except ValueError as error:
            raise MalformedValue(f"the price of ether: {error}") from error


class PriceTable:
    """The prices of a chain's blocks, as L1 gave them: a row for each block whose prices differ from the previous one's."""

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db
        self._last: tuple[int, Prices | None] = (-1, None)

    def refresh(self) -> None:
        """Forget the last prices, because all rows were replaced."""
        self._last = (-1, None)

    def at(self, block: int) -> Prices | None:
        """Return the prices of a block, or None if none were recorded."""
        found = self._db.last_at_most(tables.PRICES + tables.number(block), tables.PRICES)
        if found is None:
            return None
        return Prices.unpack(found[1])

    def rows_of(self, block: int, prices: Prices | None) -> list[Row]:
        """Return the rows for the prices of a new block; none if they equal the last block's."""
        if prices is None:
            return []
        last, self._last = self._last, (block, prices)
        if last == (block - 1, prices):
            return []
        row = prices.pack()
        # A reverted block may have left a row for this one.
        if block and Prices.unpack(row) == self.at(block - 1):
            return []
        return [(tables.PRICES + tables.number(block), row)]


class RulesTable:
    """The rules of blocks, a row for each block whose rules are other ones; a chain that publishes nothing has none."""

    def __init__(self, db: KeyValueStore, path: Path) -> None:
        self._db = db
        self._path = path
        self.current: BlockRules | None = None
        """The rules of the next block; None if the chain publishes nothing."""
        self._last: tuple[int, BlockRules | None] = (-1, None)

    def refresh(self) -> None:
        """Forget the last block, because all rows were replaced."""
        self._last = (-1, None)

    def at(self, block: int) -> BlockRules | None:
        """Return the rules of a block; None if the chain publishes nothing."""
        found = self._db.last_at_most(tables.RULES + tables.number(block), tables.RULES)
        if found is None:
            return None
        try:
            return BlockRules.decode(found[1])
        except UnreadableData as error:
            raise StoreDamaged(self._path, f"its block rules: {error}") from error

    def changes_at(self, block: int) -> bool:
        """Return whether a block has other rules than the one before it."""
        return self._db.get(tables.RULES + tables.number(block)) is not None

    def rows_of(self, block: int) -> list[Row]:
        """Return the rows of a new block with the current rules; none if the block before has the same."""
        rules = self.current
        if rules is None:
            return []
        last, self._last = self._last, (block, rules)
        # A reverted block may have left a row for this one.
        if last == (block - 1, rules) or (block and self.at(block - 1) == rules):
            return []
        return [(tables.RULES + tables.number(block), rules.encode())]
