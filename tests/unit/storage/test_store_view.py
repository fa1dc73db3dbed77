"""Blocks, transactions and state, as a store returns them."""

from __future__ import annotations

from entresol._native import Account, keccak256
from entresol.storage.store import Store
from tests.support.chain.records import (
    EMPTY_CODE,
    address,
    chain_of,
    change,
    deposit,
    fill,
    nodes_of,
    transfer,
)
from tests.support.hex_data import word

ALICE, BOB = address(1), address(2)


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
