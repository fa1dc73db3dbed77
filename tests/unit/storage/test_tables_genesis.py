from __future__ import annotations

from entresol.chain.ledger import Ledger
from entresol.storage.store import Store
from tests.support.chain.dev_chain import GENESIS, RULES


def test_an_empty_store_has_no_genesis(store: Store) -> None:
    assert store.genesis.identity is None


def test_the_chain_id_is_stored_with_the_genesis(store: Store) -> None:
    Ledger(store, RULES, GENESIS)
    assert store.genesis.chain_id == 270
