"""Blocks that a store appends, and its readers meanwhile."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from entresol.errors import InvalidTransaction, StoreFailed, WrongParent
from entresol.primitives.records import BlockRecord
from entresol.storage.log_index import LogQuery
from entresol.storage.store import Store
from tests.support.chain.records import (
    address,
    chain_of,
    change,
    dump,
    fill,
    random_chain,
    record_after,
)
from tests.support.hex_data import word

ALICE, BOB = address(1), address(2)


@pytest.mark.parametrize("head", [None, 0, 1])
@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_only_the_next_block_is_appended(store: Store, head: int | None, number: int) -> None:
    chain = chain_of({}, {}, {}, {})
    expected = 0 if head is None else head + 1
    fill(store, chain[:expected])
    before = dump(store)
    if number == expected:
        store.append(chain[number], [])
        return
    with pytest.raises(WrongParent, match=f"block {number} does not follow"):
        store.append(chain[number], [])
    assert (store.head_number, dump(store)) == (head, before)


def test_a_record_that_cannot_be_indexed_leaves_nothing(store: Store) -> None:
    genesis = record_after(None)
    bad = BlockRecord(
        record_after(genesis).header_rlp, ((b"\x02nonsense", bytes(20)),), (), (change(ALICE),), ()
    )
    fill(store, [genesis])
    before = dump(store)
    with pytest.raises(InvalidTransaction):
        store.append(bad, [])
    assert (store.head_number, dump(store)) == (0, before)
    fill(store, [record_after(genesis)])


def test_a_closed_store_is_reported() -> None:
    store = Store.temporary()
    fill(store, chain_of({"changes": [change(ALICE)]}))
    walk = store._db.scan(b"")
    store.close()
    store.close()
    for use in (
        lambda: store.get_record(0),
        lambda: store.account(ALICE, 0),
        lambda: store.code(word(1)),
        lambda: store.append(record_after(record_after(None)), []),
        lambda: next(walk),
    ):
        with pytest.raises(StoreFailed, match="is closed"):
            use()


def test_a_chain_begins_once(store: Store) -> None:
    genesis, following = chain_of({}, {})
    store.init_genesis(genesis, [], word(5), 270)
    for record in (genesis, following):
        with pytest.raises(WrongParent):
            store.init_genesis(record, [], word(6), 270)
    assert (store.head_number, store.genesis.identity) == (0, word(5))


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
