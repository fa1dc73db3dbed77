"""Everything derived can be made again from the records."""

from __future__ import annotations

import msgspec
import pytest

from entresol.chain.ledger import Ledger, rebuild
from entresol.errors import ReplayMismatch
from entresol.storage.store import Store
from tests.support.chain.dev_chain import (
    GENESIS,
    NOBODY,
    RULES,
    balance,
    execute_block,
    seal_block,
    transaction,
)


def test_a_rebuilt_chain_reads_as_before_and_continues() -> None:
    store = Store.temporary()
    ledger = Ledger(store, RULES, GENESIS)
    sent = [transaction(nonce, wei=10) for nonce in range(4)]
    for it in sent:
        seal_block(ledger, it)
    seen: list[tuple[int, int]] = []
    rebuild(store, lambda done, total: seen.append((done, total)))
    assert seen == [(number, 5) for number in range(1, 6)]
    again = Ledger(store, RULES, GENESIS)
    assert [balance(again, NOBODY, number) for number in range(5)] == [0, 10, 20, 30, 40]
    assert store.locate_transaction(sent[2].hash) == (3, 0)
    assert again.trie.prove(again.header(2).state_root, NOBODY).balance == 20
    seal_block(again, transaction(4, wei=10))
    assert balance(again, NOBODY, 5) == 50
    store.close()


def test_a_record_that_does_not_lead_to_its_root_stops_a_rebuild() -> None:
    store = Store.temporary()
    ledger = Ledger(store, RULES, GENESIS)
    seal_block(ledger, transaction(0))
    record = execute_block(ledger, transaction(1)).record
    store.append(msgspec.structs.replace(record, changes=()), [])
    with pytest.raises(ReplayMismatch, match="block 2 differs from its record"):
        rebuild(store)
    store.close()
