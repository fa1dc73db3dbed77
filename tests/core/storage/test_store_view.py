"""Blocks, transactions and state, as a store returns them."""

from __future__ import annotations

from entresol.storage.store import Store
from tests.support.chain.records import address, chain_of, deposit, fill, transfer

ALICE, BOB = address(1), address(2)


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
