"""Blocks, transactions and state, as a store returns them."""

from __future__ import annotations

from entresol._native import keccak256
from entresol.storage.store import Store
from tests.support.chain.records import address, chain_of, deposit, fill, nodes_of, transfer
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


def test_codes_and_nodes_are_found_by_hash(store: Store) -> None:
    fill(store, chain := chain_of({"codes": [b"\1\2", b"\3"]}))
    assert store.code(keccak256(b"\1\2")) == b"\1\2"
    assert store.code(keccak256(b"\3")) == b"\3"
    assert store.code(word(1)) is None
    ((node_hash, node),) = nodes_of(chain[0])
    assert store.node(node_hash) == node
    assert store.node(word(1)) is None
