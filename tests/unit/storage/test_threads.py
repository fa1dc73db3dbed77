"""Readers on other threads while one writer goes forth and back."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from entresol.primitives.records import BlockRecord
from entresol.storage.log_index import LogQuery
from entresol.storage.store import Store
from tests.support.chain.records import address, fill, random_chain, record_after, word

READERS = 3


def beside_readers(read: Callable[[], object], write: Callable[[], None]) -> int:
    """Run `write` once while others run `read` again and again; return how often they did."""
    done = Event()

    def keep_reading() -> int:
        times = 0
        while not done.is_set() or not times:
            read()
            times += 1
        return times

    with ThreadPoolExecutor(READERS) as pool:
        readers = [pool.submit(keep_reading) for _ in range(READERS)]
        try:
            write()
        finally:
            done.set()
        return sum(reader.result() for reader in readers)


def test_a_head_always_has_its_block(store: Store) -> None:
    chain = random_chain(random.Random(1), 300)
    fill(store, chain[:1])

    def read() -> None:
        head = store.head_number
        assert head is not None
        assert store.get_record(head) == chain[head]
        assert store.block_hash(head) == chain[head].header().hash()
        assert set(store.blocks_with_logs(LogQuery(), 0, head)) <= set(range(head + 1))

    assert beside_readers(read, lambda: fill(store, chain[1:])) >= READERS


def test_no_reader_brings_back_what_was_truncated(store: Store) -> None:
    genesis = record_after(None)
    fill(store, [genesis])
    branches = [record_after(genesis, salt=bytes([branch])) for branch in range(100)]

    def switch_branches() -> None:
        for branch in branches:
            fill(store, [branch])
            assert store.get_record(1) == branch
            store.unwind(0)
            assert store.get_record(1) is None

    beside_readers(lambda: store.get_record(1), switch_branches)


def test_the_past_stays_as_it_was(store: Store) -> None:
    chain = random_chain(random.Random(2), 200)
    fill(store, chain[:50])
    slots = [(address(who), word(slot)) for who in range(6) for slot in range(3)]
    before = [(store.account(who, 49), store.slot(who, slot, 49)) for who, slot in slots]

    def read() -> None:
        now = [(store.account(who, 49), store.slot(who, slot, 49)) for who, slot in slots]
        assert now == before

    beside_readers(read, lambda: fill(store, chain[50:]))


def test_a_slow_read_is_not_kept_after_truncating(store: Store) -> None:
    genesis = record_after(None)
    ours, theirs = record_after(genesis, salt=b"1"), record_after(genesis, salt=b"2")
    fill(store, [genesis, ours])

    def slow(number: int) -> BlockRecord | None:
        """Read, and come back only when everything has changed."""
        record = store._read_record(number)
        store.unwind(0)
        fill(store, [theirs])
        return record

    assert store._records.get(1, slow) == ours
    assert store.get_record(1) == theirs
