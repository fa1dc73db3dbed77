"""Blocks, transactions and state, as a store gives them back."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from entresol._native import Account, keccak256
from entresol.errors import InvalidTransaction, StoreFailed, WrongParent
from entresol.primitives.records import BlockRecord
from entresol.storage.log_index import LogQuery
from entresol.storage.store import Store
from tests.support.chain.records import (
    EMPTY_CODE,
    address,
    change,
    deposit,
    dump,
    fill,
    nodes_of,
    random_chain,
    record_after,
    transfer,
)
from tests.support.hex_data import word

ALICE, BOB = address(1), address(2)


def chain_of(*blocks: dict[str, object]) -> list[BlockRecord]:
    """Return records whose parts are given block by block."""
    chain: list[BlockRecord] = []
    for parts in blocks:
        chain.append(record_after(chain[-1] if chain else None, **parts))  # type: ignore[arg-type]
    return chain


def test_an_empty_store_has_no_head(store: Store) -> None:
    assert store.head_number is None
    assert store.genesis.identity is None
    assert store.get_record(0) is None
    assert store.block_hash(0) is None
    assert list(store.records()) == []


def test_a_block_is_found_by_number_and_by_hash(store: Store) -> None:
    chain = chain_of({}, {"transactions": [transfer(0)]}, {})
    fill(store, chain)
    for number, record in enumerate(chain):
        assert store.get_record(number) == record
        assert store.block_hash(number) == record.header().hash()
        assert store.block_number(record.header().hash()) == number
    assert store.head_number == 2
    assert store.get_record(3) is None
    assert store.block_number(word(9)) is None


def test_records_come_in_order_from_any_block_on(store: Store) -> None:
    chain = chain_of(*({} for _ in range(5)))
    fill(store, chain)
    assert list(store.records()) == chain
    assert list(store.records(3)) == chain[3:]
    assert list(store.records(5)) == []


def test_a_block_that_was_missing_is_found_once_it_is_appended(store: Store) -> None:
    assert store.get_record(0) is None
    fill(store, chain := chain_of({}))
    assert store.get_record(0) == chain[0]


def test_a_transaction_is_found_by_hash_and_by_nonce(store: Store) -> None:
    fill(store, chain_of({}, {"transactions": [transfer(0), transfer(1)]}))
    assert store.locate_transaction(transfer(0).hash) == (1, 0)
    assert store.locate_transaction(transfer(1).hash) == (1, 1)
    assert store.locate_transaction(transfer(2).hash) is None
    assert store.hash_by_nonce(transfer(1).sender, 1) == transfer(1).hash
    assert store.hash_by_nonce(transfer(1).sender, 2) is None


def test_a_priority_transaction_uses_no_nonce(store: Store) -> None:
    fill(store, chain_of({}, {"transactions": [deposit(0)]}))
    assert store.locate_transaction(deposit(0).hash) == (1, 0)
    assert store.hash_by_nonce(deposit(0).sender, 0) is None


def test_a_transaction_that_came_twice_is_found_where_it_was_last(store: Store) -> None:
    # Somebody set a nonce back by hand.
    fill(store, chain_of({}, {"transactions": [transfer(0)]}, {"transactions": [deposit(1), transfer(0)]}))  # fmt: skip
    assert store.locate_transaction(transfer(0).hash) == (2, 1)
    store.unwind(1)
    assert store.locate_transaction(transfer(0).hash) == (1, 0)
    assert store.hash_by_nonce(transfer(0).sender, 0) == transfer(0).hash


def test_an_account_is_known_at_every_block(store: Store) -> None:
    fill(
        store,
        chain_of(
            {},
            {"changes": [change(ALICE, 5)]},
            {},
            {"changes": [change(ALICE, 2**255, nonce=2**63, code=b"\1"), change(BOB, 0)]},
            {"changes": [change(ALICE, None, destroyed=True)]},
        ),
    )
    answers = [store.account(ALICE, number) for number in range(6)]
    rich = Account(2**63, 2**255, keccak256(b"\1"))
    assert answers == [None, Account(0, 5, EMPTY_CODE), Account(0, 5, EMPTY_CODE), rich, None, None]
    assert store.account(BOB, 2) is None
    assert store.account(BOB, 3) == Account(0, 0, EMPTY_CODE)


def test_a_slot_is_known_at_every_block(store: Store) -> None:
    fill(
        store,
        chain_of(
            {},
            {"changes": [change(ALICE, slots=[(1, 7), (2, 8)])]},
            {"changes": [change(ALICE, slots=[(1, 0)])]},
            {"changes": [change(ALICE, slots=[(1, 2**256 - 1)])]},
        ),
    )
    answers = [store.slot(ALICE, word(1), number) for number in range(4)]
    assert answers == [b"", b"\x07", b"", b"\xff" * 32]
    assert store.slot(ALICE, word(2), 3) == b"\x08"
    assert store.slot(ALICE, word(3), 3) == b""
    assert store.slot(BOB, word(1), 3) == b""


def test_a_destroyed_account_loses_its_slots(store: Store) -> None:
    fill(
        store,
        chain_of(
            {"changes": [change(ALICE, slots=[(1, 7), (2, 8)]), change(BOB, slots=[(1, 9)])]},
            {"changes": [change(ALICE, slots=[(2, 0), (3, 5)])]},
            {"changes": [change(ALICE, None, destroyed=True)]},
        ),
    )
    slots = [word(1), word(2), word(3)]
    assert [store.slot(ALICE, slot, 1) for slot in slots] == [b"\x07", b"", b"\x05"]
    assert [store.slot(ALICE, slot, 2) for slot in slots] == [b"", b"", b""]
    assert store.slot(BOB, word(1), 2) == b"\x09"


def test_an_account_may_be_destroyed_and_made_again_in_one_block(store: Store) -> None:
    fill(
        store,
        chain_of(
            {"changes": [change(ALICE, slots=[(1, 7), (2, 8)])]},
            {"changes": [change(ALICE, 3, destroyed=True, slots=[(2, 4), (3, 5)])]},
        ),
    )
    assert store.account(ALICE, 1) == Account(0, 3, EMPTY_CODE)
    slots = [word(1), word(2), word(3)]
    assert [store.slot(ALICE, slot, 1) for slot in slots] == [b"", b"\x04", b"\x05"]


def test_codes_and_nodes_are_found_by_hash(store: Store) -> None:
    fill(store, chain := chain_of({"codes": [b"\1\2", b"\3"]}))
    assert store.code(keccak256(b"\1\2")) == b"\1\2"
    assert store.code(keccak256(b"\3")) == b"\3"
    assert store.code(word(1)) is None
    ((node_hash, node),) = nodes_of(chain[0])
    assert store.node(node_hash) == node
    assert store.node(word(1)) is None


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


def test_a_block_of_another_branch_is_rejected(store: Store) -> None:
    ours, theirs = chain_of({}, {"salt": b"1"}, {}), chain_of({}, {"salt": b"2"}, {})
    fill(store, ours[:2])
    with pytest.raises(WrongParent):
        store.append(theirs[2], [])
    store.append(ours[2], [])


def test_a_record_that_cannot_be_indexed_leaves_nothing(store: Store) -> None:
    genesis = record_after(None)
    bad = BlockRecord(
        record_after(genesis).header_rlp,
        ((b"\x02nonsense", bytes(20)),),
        (),
        (change(ALICE),),
        (),
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
    for question in (
        lambda: store.get_record(0),
        lambda: store.account(ALICE, 0),
        lambda: store.code(word(1)),
        lambda: store.append(record_after(record_after(None)), []),
        lambda: next(walk),
    ):
        with pytest.raises(StoreFailed, match="is closed"):
            question()


def test_a_chain_is_known_by_what_it_was_begun_with(store: Store) -> None:
    genesis, following = chain_of({}, {})
    store.init_genesis(genesis, nodes_of(genesis), word(5), 270)
    assert (store.head_number, store.genesis.identity) == (0, word(5))
    store.append(following, [])
    store.unwind(0)
    assert store.genesis.identity == word(5)


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


def test_a_slow_read_is_not_cached_after_an_unwind(store: Store) -> None:
    genesis = record_after(None)
    ours, theirs = record_after(genesis, salt=b"1"), record_after(genesis, salt=b"2")
    fill(store, [genesis, ours])

    def slow(number: int) -> BlockRecord | None:
        """Read, and come back only when everything has changed."""
        record = store._read_record(number)
        store.unwind(0)
        fill(store, [theirs])
        return record

    assert store.record_cache.get(1, slow) == ours
    assert store.get_record(1) == theirs
