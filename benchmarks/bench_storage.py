"""The store: reads of the past, sparse log filters, reopening, and what a transfer takes on disk."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.harness import Row, Target, best_seconds
from entresol._native import Account, address_of, keccak256, public_key
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.ledger import Ledger
from entresol.chain.rules import ChainRules
from entresol.execution.block_executor import BlockExecutor
from entresol.primitives.headers import Header
from entresol.primitives.records import BlockRecord, StoredChange, TransactionResult, stored_account
from entresol.primitives.transactions import FeeMarketTransaction, sign
from entresol.primitives.values import Address, Hash32
from entresol.storage.log_index import LogQuery
from entresol.storage.store import Store
from tests.support.hex_data import word

# A million blocks take minutes to make, so they are made on request only.
LONGEST: Final = int(os.environ.get("ENTRESOL_BENCH_BLOCKS", "100000"))
LENGTHS: Final = tuple(n for n in (1_000, 10_000, 100_000, 1_000_000) if n <= LONGEST)
MATCHES: Final = 10
SETTLING_SECONDS: Final = 2
ACCOUNTS: Final = 2_000

TRANSFER_BLOCKS: Final = 100
TRANSFERS: Final = 50
SENDERS: Final = 500

BUSY, QUIET = Address(b"\xb0" * 20), Address(b"\x0a" * 20)
COMMON, RARE = (number.to_bytes(32) for number in (1, 2))
NO_CODE: Final = keccak256(b"")


def rows() -> Iterable[Row]:
    """Measure chains of several lengths, one grown from the other."""
    yield from transfer_rows()
    directory = Path(tempfile.mkdtemp(prefix="entresol-bench-"))
    try:
        grown: BlockRecord | None = None
        for length in LENGTHS:
            grown = grow(directory, grown, length)
            settle(directory)
            yield from measure(directory, length)
    finally:
        shutil.rmtree(directory)


def settle(directory: Path) -> None:
    """Give the engine the time to tidy up after growing, which would be measured otherwise."""
    store = Store.open(directory)
    time.sleep(SETTLING_SECONDS)
    store.close()


def measure(directory: Path, length: int) -> Iterable[Row]:
    """Reopen a chain, then read from its past and search its logs."""
    of = f"store of {length:,} blocks"
    opened = best_seconds(lambda: Store.open(directory).close(), calls=1)
    target = Target(100, "at most")
    yield Row(what=f"{of}: reopen", value=opened * 1e3, unit="ms", target=target)
    store, randomness = Store.open(directory), random.Random(1)
    try:
        yield from read_rows(of, store, randomness, length)
        yield from log_rows(of, store, length)
    finally:
        store.close()


def read_rows(of: str, store: Store, randomness: random.Random, length: int) -> Iterable[Row]:
    """Read random accounts, slots and blocks at random times."""

    def random_address() -> bytes:
        return address(randomness.randrange(ACCOUNTS))

    account = best_seconds(lambda: store.account(random_address(), randomness.randrange(length)))
    slot = best_seconds(lambda: store.slot(BUSY, word(randomness.randrange(ACCOUNTS)), length))
    record = best_seconds(lambda: store.get_record(randomness.randrange(length)))
    yield Row(what=f"{of}: a past account", value=account * 1e6, unit="µs")
    yield Row(what=f"{of}: a slot", value=slot * 1e6, unit="µs")
    yield Row(what=f"{of}: a record", value=record * 1e6, unit="µs")


def log_rows(of: str, store: Store, length: int) -> Iterable[Row]:
    """Search for an address in ten blocks, and for a topic in ten beside an address in all."""
    queries = {
        "a rare address": LogQuery(addresses=frozenset({QUIET})),
        "a rare topic of a busy address": LogQuery(
            addresses=frozenset({BUSY}), topics=(frozenset({COMMON}), frozenset({RARE}))
        ),
    }
    for what, query in queries.items():
        search = partial(store.blocks_with_logs, query, 0, length)
        assert len(list(search())) == MATCHES
        seconds = best_seconds(partial(_exhaust, search))
        yield Row(what=f"{of}: {what}, {MATCHES} matches", value=seconds * 1e6, unit="µs")


def grow(directory: Path, last: BlockRecord | None, length: int) -> BlockRecord:
    """Append blocks like those of a quiet chain, until there are `length`.

    What a sparse filter matches is in the first blocks only, far apart, so that every length has
    the same matches.
    """
    store, randomness = Store.open(directory, durable=False), random.Random(length)
    start = 0 if store.head_number is None else store.head_number + 1
    for number in range(start, length):
        is_match = number < min(LENGTHS) and number % (min(LENGTHS) // MATCHES) == 0
        last = block_after(last, number, randomness, is_match=is_match)
        nodes = [(keccak256(node), node) for node in (randomness.randbytes(300) for _ in range(3))]
        store.append(last, nodes)
    store.close()
    assert last is not None
    return last


def block_after(
    parent: BlockRecord | None, number: int, randomness: random.Random, *, is_match: bool
) -> BlockRecord:
    """Return a block with one transaction that changes three accounts and a slot, and has a log."""
    header = Header(
        parent_hash=Hash32.zero() if parent is None else Hash32(keccak256(parent.header_rlp)),
        state_root=Hash32(randomness.randbytes(32)),
        number=number,
        gas_limit=30_000_000,
        timestamp=number,
        base_fee_per_gas=0,
    )
    holders = [address(name) for name in randomness.sample(range(ACCOUNTS), 2)]
    account = stored_account(Account(number, 10**18 + number, NO_CODE))
    slot = (word(randomness.randrange(ACCOUNTS)), randomness.randbytes(8))
    changes = (
        *(StoredChange(holder, account) for holder in holders),
        StoredChange(BUSY, account, slots=(slot,)),
    )
    logs = [(bytes(BUSY), (COMMON, RARE) if is_match else (COMMON,), b"")]
    if is_match:
        logs.append((bytes(QUIET), (RARE,), b""))
    result = TransactionResult(succeeded=True, gas_used=50_000, logs=tuple(logs))
    # It is not signed, and the store does not check.
    signature = b"\1" + randomness.randbytes(31) + b"\1" + randomness.randbytes(31) + b"\0"
    raw = transfer(number, BUSY).with_signature(signature).encode()
    return BlockRecord(header.encode(), ((raw, holders[0]),), (result,), changes, ())


def transfer_rows() -> Iterable[Row]:
    """Seal real blocks of transfers and measure the files."""
    directory = Path(tempfile.mkdtemp(prefix="entresol-bench-"))
    try:
        store = Store.open(directory)
        sizes, seconds = zip(*seal_transfers(store), strict=True)
        store.close()
        files = [
            file for file in (directory / "database").iterdir() if not file.name.startswith("LOG")
        ]
        on_disk = sum(file.stat().st_size for file in files)
        count = TRANSFER_BLOCKS * TRANSFERS
        what = f"store, blocks of {TRANSFERS} transfers"
        yield Row(what=f"{what}: on disk", value=on_disk / count, unit="bytes/transfer")
        yield Row(what=f"{what}: in records", value=sum(sizes) / count, unit="bytes/transfer")
        best = min(seconds) / TRANSFERS * 1e6
        yield Row(what=f"{what}: append durably", value=best, unit="µs/transfer")
    finally:
        shutil.rmtree(directory)


def seal_transfers(store: Store) -> Iterator[tuple[int, float]]:
    """Seal blocks, and yield each record's size and the seconds that appending took."""
    secrets = [number.to_bytes(32) for number in range(1, SENDERS + 1)]
    senders = [Address(address_of(public_key(secret))) for secret in secrets]
    ledger = Ledger(store, ChainRules.layer_2(), Genesis.development(270, senders, 10**20))
    for number in range(TRANSFER_BLOCKS):
        env = ledger.next_block_env(ledger.head.timestamp + 1)
        executor = BlockExecutor(ledger.rules.evm_rules(), ledger.latest, env, ledger.parent)
        first = number * TRANSFERS
        for index in range(first, first + TRANSFERS):
            to = senders[(index * 7) % SENDERS]
            executor.run(sign(transfer(index // SENDERS, to), secrets[index % SENDERS]))
        executed = executor.finish(ledger.trie)
        start = time.perf_counter()
        ledger.append(executed)
        yield len(executed.record.encode()), time.perf_counter() - start


def transfer(nonce: int, to: Address) -> FeeMarketTransaction:
    """Return an unsigned transfer."""
    return FeeMarketTransaction(
        chain_id=270,
        nonce=nonce,
        to=to,
        value=1,
        gas_limit=21_000,
        max_fee_per_gas=10**9,
        max_priority_fee_per_gas=0,
    )


def address(name: int) -> bytes:
    """Return one of many addresses."""
    return keccak256(name.to_bytes(4))[:20]


def _exhaust(search: Callable[[], Iterable[int]]) -> None:
    for _ in search():
        pass
