"""Index for the explorer, by account and by token: who has received which token, and who was called.

Most of it is in other tables already: `ACCOUNT` has the blocks that changed an account, `LOGS` those in which a
contract logs, or a topic names an account. Here is the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import decode_transaction
from entresol.features.explorer.token_transfers import TokenStandard, recipient_of
from entresol.primitives.transactions import PriorityTransaction, may_be_unsigned
from entresol.storage import tables
from entresol.storage.block_index import is_complete

if TYPE_CHECKING:
    from entresol.primitives.records import BlockRecord
    from entresol.storage.database.key_value import KeyValueStore, Row
    from entresol.storage.store_view import StoreView

HOLDER: Final = b"H"
HELD: Final = b"T"
CALLED: Final = b"N"

_ADDRESS_SIZE: Final = 20

_ROWS_PER_READ: Final = 512
"""How many rows are read at once where the first are of reverted blocks."""

_NOBODY: Final = bytes(_ADDRESS_SIZE)
_LAST_ADDRESS: Final = b"\xff" * _ADDRESS_SIZE

_NATIVE_TYPES: Final = frozenset({1, 2, 3, 4, *range(0xC0, 0xFE)})


class ReceivedToken(NamedTuple):
    """An account has received a token, in this block for the first time."""

    token: bytes
    holder: bytes
    block: int
    standard: TokenStandard


class AccountIndex:
    """The tokens that accounts have ever received, and the blocks in which they were called but not changed."""

    name = "accounts"
    tables = (HOLDER, HELD, CALLED)

    def rows_of(self, db: KeyValueStore, record: BlockRecord, number: int) -> list[Row]:
        """Return the rows of a block."""
        rows: list[Row] = []
        if not record.transactions:
            return rows
        for (token, holder), standard in _received(record).items():
            key = HOLDER + token + holder
            known = db.get(key)
            # What is at or above this block was left by reverted ones.
            if known is None or _unpack(known)[0] >= number:
                value = tables.number(number) + bytes([standard])
                rows += [(key, value), (HELD + holder + token, value)]
        suffix = tables.number(number)
        rows += [(CALLED + called + suffix, b"") for called in _called(record)]
        return rows

    def keys_of(self, db: KeyValueStore, record: BlockRecord, number: int) -> Iterator[bytes]:
        """Yield the keys that a reverted block has left."""
        if not record.transactions:
            return
        for token, holder in _received(record):
            for key in (HOLDER + token + holder, HELD + holder + token):
                row = db.get(key)
                # It may be of an earlier block, or of one that has taken the place of a reverted one.
                if row is not None and _unpack(row)[0] == number:
                    yield key
        yield from (CALLED + called + tables.number(number) for called in _called(record))


class IndexedAccounts:
    """Reads the index of a store; what is above `head` was left by reverted blocks."""

    def __init__(self, store: StoreView) -> None:
        self._db = store.rows

    @property
    def is_on(self) -> bool:
        """Whether all blocks are indexed."""
        return is_complete(self._db, AccountIndex())

    def holders(self, token: bytes, after: bytes, count: int, head: int) -> list[ReceivedToken]:
        """Return up to `count` accounts that have received a token, in the order of their addresses."""
        found = self._read(HOLDER + token, after, count, head)
        return [ReceivedToken(token, holder, *value) for holder, value in found]

    def tokens_of(self, holder: bytes, after: bytes, count: int, head: int) -> list[ReceivedToken]:
        """Return up to `count` tokens that an account has received, in the order of their addresses."""
        found = self._read(HELD + holder, after, count, head)
        return [ReceivedToken(token, holder, *value) for token, value in found]

    def tokens(self, after: bytes, count: int, head: int) -> list[bytes]:
        """Return up to `count` tokens that anybody has received, in the order of their addresses."""
        found: list[bytes] = []
        while len(found) < count:
            start = HOLDER + after + _LAST_ADDRESS if after else HOLDER
            row = self._db.first_at_least(start + b"\0", HOLDER)
            if row is None:
                break
            after = row[0][1 : 1 + _ADDRESS_SIZE]
            if self.holders(after, b"", 1, head):
                found.append(after)
        return found

    def last_block_of(self, account: bytes, block: int) -> int | None:
        """Return the last block up to `block` that has changed or called an account, or in which it has logged."""
        log = tables.LOGS + tables.ADDRESS_OF_LOG
        prefixes = (tables.ACCOUNT + account, CALLED + account, log + account)
        found = [
            self._db.last_at_most(prefix + tables.number(block), prefix) for prefix in prefixes
        ]
        return max((tables.block_of(row[0]) for row in found if row is not None), default=None)

    def _read(
        self, prefix: bytes, after: bytes, count: int, head: int
    ) -> list[tuple[bytes, tuple[int, TokenStandard]]]:
        found: list[tuple[bytes, tuple[int, TokenStandard]]] = []
        start = prefix + after + b"\0" if after else prefix
        size = count
        while len(found) < count:
            chunk = self._db.read(start, prefix, size)
            if not chunk:
                break
            size = max(count, _ROWS_PER_READ)
            start = chunk[-1][0] + b"\0"
            values = ((key[len(prefix) :], _unpack(value)) for key, value in chunk)
            found += [value for value in values if value[1][0] <= head]
        return found[:count]


def _received(record: BlockRecord) -> dict[tuple[bytes, bytes], TokenStandard]:
    """Return who receives which token in a block; burning is none's gain."""
    received: dict[tuple[bytes, bytes], TokenStandard] = {}
    for result in record.results:
        for address, topics, data in result.logs:
            found = recipient_of(topics, len(data))
            if found is not None and found[2] != _NOBODY:
                received.setdefault((address, found[2]), found[0])
    return received


def _called(record: BlockRecord) -> set[bytes]:
    """Return whom a block's transactions name as target, contract or receiver of a refund, and no other table has."""
    named: set[bytes] = set()
    for index, result in enumerate(record.results):
        if result.created is not None:
            named.add(result.created)
        named.update(targets_of(record, index))
    if not named:
        return named
    changed = {change.address for change in record.changes}
    logging = {address for result in record.results for address, _, _ in result.logs}
    return named - changed - logging


def targets_of(record: BlockRecord, index: int) -> Iterator[bytes]:
    """Yield whom a transaction is sent to, and who is refunded by a deposit."""
    raw, sender = record.transactions[index]
    if raw[0] in _NATIVE_TYPES and not may_be_unsigned(raw):
        # Costs a twentieth of decoding all of it.
        target = decode_transaction(raw, sender=sender).to
    else:
        payload = record.transaction(index).payload
        target = payload.to
        if isinstance(payload, PriorityTransaction):
            yield bytes(payload.refund_recipient)
    if target is not None:
        yield bytes(target)


def _unpack(value: bytes) -> tuple[int, TokenStandard]:
    return int.from_bytes(value[: tables.NUMBER_SIZE]), TokenStandard(value[-1])
