"""Records without an execution behind them, chains and fee histories of them, and the bytes of a store."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from entresol._native import Account, FeeHistory, Rules, keccak256
from entresol.primitives.headers import Header
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.records import (
    LAYOUT,
    BlockRecord,
    StoredChange,
    TransactionResult,
    stored_account,
)
from entresol.primitives.transactions import Transaction, sign
from entresol.primitives.transactions.priority import PRIORITY_TYPES
from entresol.primitives.values import Address, Hash32
from entresol.rpc.services.native_reads import FEE_HISTORY_LIMITS
from entresol.storage import tables
from entresol.storage.database.key_value import KeyValueStore, Row
from entresol.storage.store import Store
from tests.support.chain.dev_chain import fee_market, priority_transaction
from tests.support.contracts.merkle_trees import message_log
from tests.support.hex_data import word

EMPTY_CODE = keccak256(b"")
SECRET = bytes(31) + b"\x01"

Log = tuple[bytes, tuple[bytes, ...], bytes]


def address(name: int) -> Address:
    return Address(keccak256(b"address" + name.to_bytes(4))[:20])


def transfer(nonce: int, *, value: int = 1, to: Address | None = None) -> Transaction:
    return sign(
        fee_market(nonce, address(1) if to is None else to, value=value, fee=10**9),
        SECRET,
    )


def deposit(nonce: int, *, value: int = 1) -> Transaction:
    return Transaction.from_l1(
        priority_transaction(nonce, sender=address(8), to=address(9), value=value)
    )


def change(
    holder: bytes,
    balance: int | None = 1,
    *,
    nonce: int = 0,
    code: bytes = b"",
    destroyed: bool = False,
    slots: Iterable[tuple[int, int]] = (),
) -> StoredChange:
    """Return what a block made of an account; without a balance the account does not exist."""
    account = None if balance is None else stored_account(Account(nonce, balance, keccak256(code)))
    values = tuple((word(slot), word(value).lstrip(b"\0")) for slot, value in slots)
    return StoredChange(holder, account, destroyed, values)


def record_after(
    parent: BlockRecord | None,
    *,
    transactions: Sequence[Transaction] = (),
    logs: Sequence[Sequence[Log]] = (),
    changes: Iterable[StoredChange] = (),
    codes: Iterable[bytes] = (),
    salt: bytes = b"",
) -> BlockRecord:
    """Return the record of a block that follows `parent`; `logs` are given by transaction."""
    number = 0 if parent is None else parent.header().number + 1
    header = Header(
        parent_hash=Hash32.zero() if parent is None else parent.header().hash(),
        state_root=Hash32(keccak256(number.to_bytes(8) + salt)),
        number=number,
        gas_limit=30_000_000,
        timestamp=1_000 + number,
        base_fee_per_gas=0,
    )
    results = [
        TransactionResult(
            succeeded=True,
            gas_used=21_000,
            logs=tuple(logs[i]) if i < len(logs) else (),
            l2_to_l1_logs=_messages(i, it),
        )
        for i, it in enumerate(transactions)
    ]
    stored = tuple((transaction.raw, bytes(transaction.sender)) for transaction in transactions)
    return BlockRecord(header.encode(), stored, tuple(results), tuple(changes), tuple(codes))


def _messages(index: int, transaction: Transaction) -> tuple[bytes, ...]:
    """Return the L2-to-L1 logs of a transaction: a deposit has its status, every third transfer sends a message."""
    if transaction.type in PRIORITY_TYPES:
        return (L2ToL1Log.of_status(index, transaction.hash, succeeded=True).pack(),)
    if transaction.payload.nonce % 3:
        return ()
    return (message_log(index, address(7), transaction.raw).pack(),)


def random_chain(
    randomness: random.Random, blocks: int, start: Iterable[BlockRecord] = ()
) -> list[BlockRecord]:
    """Return a chain of so many blocks in which everything happens: changes, destructions, codes, logs, deposits."""
    chain = list(start)
    nonce = sum(len(record.transactions) for record in chain)
    for number in range(len(chain), blocks):
        transactions: list[Transaction] = []
        if number and randomness.random() < 0.3:
            transactions.append(deposit(number))
        for _ in range(randomness.randrange(3)):
            transactions.append(transfer(nonce))
            nonce += 1
        codes = [randomness.randbytes(5)] if randomness.random() < 0.2 else []
        chain.append(
            record_after(
                chain[-1] if chain else None,
                transactions=transactions,
                logs=[[_random_log(randomness)] for _ in transactions],
                changes=_random_changes(randomness, codes),
                codes=codes,
                salt=randomness.randbytes(4),
            )
        )
    return chain


def incompressible_chain() -> Iterator[BlockRecord]:
    """Yield blocks of 20 kB that cannot be compressed."""
    randomness, parent = random.Random(1), None
    while True:
        parent = record_after(parent, codes=[randomness.randbytes(20_000)])
        yield parent


def nodes_of(record: BlockRecord) -> list[tuple[bytes, bytes]]:
    node = b"node" + record.header().state_root
    return [(keccak256(node), node)]


def chain_of(*blocks: dict[str, object]) -> list[BlockRecord]:
    chain: list[BlockRecord] = []
    for parts in blocks:
        chain.append(record_after(chain[-1] if chain else None, **parts))  # type: ignore[arg-type]
    return chain


def fill(store: Store, chain: Iterable[BlockRecord]) -> None:
    for record in chain:
        store.append(record, nodes_of(record))


SENDERS = b"X"


class SenderIndex:
    """The blocks in which an account has sent a transaction."""

    name = "senders"
    tables = (SENDERS,)

    def rows_of(self, _db: KeyValueStore, record: BlockRecord, number: int) -> list[Row]:
        return [(key, b"") for key in self.keys_of(_db, record, number)]

    def keys_of(self, _db: KeyValueStore, record: BlockRecord, number: int) -> list[bytes]:
        return [SENDERS + sender + tables.number(number) for _, sender in record.transactions]


BY_NUMBER = (
    *(tables.RECORD, tables.HASH_OF_NUMBER, tables.TRANSACTION_LOCATION, tables.HASH_OF_NONCE),
    *(tables.ACCOUNT, tables.SLOT, tables.PUBLISHED, tables.LOGS, tables.PRIORITY),
    *(tables.PRICES, tables.BATCH_POSITION, SENDERS),
)


def dump(store: Store) -> dict[bytes, bytes]:
    """Return every key and value of a store, but for what reverted blocks have left."""
    rows = dict(store._db.scan(b""))
    head = -1 if store.head_number is None else store.head_number
    reverted = [row for row in rows if row[:1] in BY_NUMBER and tables.block_of(row) > head]
    reverted += [row for row in rows if row[:1] == tables.OPEN_LOGS and _block_of_log(row) > head]
    hashes = {
        tables.NUMBER_OF_HASH + rows[entry]
        for entry in reverted
        if entry[:1] == tables.HASH_OF_NUMBER
    }
    return {key: row for key, row in rows.items() if key not in {*reverted, *hashes}}


def _block_of_log(key: bytes) -> int:
    return int.from_bytes(key[1 : 1 + tables.NUMBER_SIZE])


def without_shared(rows: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Leave out what is stored by its hash and may belong to several blocks."""
    return {k: v for k, v in rows.items() if not k.startswith((tables.CODE, tables.NODE))}


def files_of(path: Path) -> dict[str, tuple[int, bytes]]:
    """Return time and content of every file under `path`, and the time of every directory."""
    return {
        str(entry.relative_to(path)): (
            entry.lstat().st_mtime_ns,
            entry.read_bytes() if entry.is_file() else b"",
        )
        for entry in (path, *path.rglob("*"))
    }


def _random_log(randomness: random.Random) -> Log:
    topics = tuple(word(randomness.randrange(3)) for _ in range(randomness.randrange(5)))
    return address(randomness.randrange(3)), topics, randomness.randbytes(3)


def _random_changes(randomness: random.Random, codes: list[bytes]) -> list[StoredChange]:
    changes = []
    for holder in sorted(address(name) for name in randomness.sample(range(6), 3)):
        destroyed = randomness.random() < 0.2
        deleted = destroyed and randomness.random() < 0.5
        slots = [] if deleted else [(n, randomness.randrange(3)) for n in range(3)]
        code = randomness.choice(codes) if codes else b""
        balance = None if deleted else randomness.randrange(10**20)
        changes.append(change(holder, balance, destroyed=destroyed, slots=slots, code=code))
    return changes


def history_over(stored: bytes, blobs: Rules | int = 1) -> FeeHistory:
    return FeeHistory(
        LAYOUT,
        blobs=blobs,
        limits=FEE_HISTORY_LIMITS,
        load=lambda _: stored,
        head=lambda: 1,
        next_fees=lambda: (0, 0),
        capacity=1 << 20,
    )


def fees_of(
    record: BlockRecord, blobs: Rules | int = 1, percentiles: tuple[float, ...] = ()
) -> dict[str, Any]:
    """Return what a block contributes to a history: the first item of each list."""
    text = history_over(record.encode(), blobs).render(1, 1, percentiles)
    history = json.loads(text)
    assert history.pop("oldestBlock") == "0x1"
    return {name: values[0] for name, values in history.items()}


def fees_of_header(header: Header, blobs: Rules | int) -> tuple[int, float]:
    """Return the price of blob gas of an empty block, and which part of its blobs it has."""
    fees = fees_of(BlockRecord(header.encode(), (), (), (), ()), blobs)
    return int(fees["baseFeePerBlobGas"], 16), fees["blobGasUsedRatio"]
