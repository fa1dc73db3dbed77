"""Everything derived can be made again from the records."""

from __future__ import annotations

import msgspec
import pytest

from entresol.chain.ledger import Ledger
from entresol.chain.rebuild import rebuild
from entresol.errors import ReplayDiffers
from entresol.storage.store import Store
from tests.unit.chain.test_ledger import BOB, GENESIS, RULES, balance, build, seal, transfer


def test_a_rebuilt_chain_answers_as_before_and_goes_on() -> None:
    store = Store.temporary()
    ledger = Ledger(store, RULES, GENESIS)
    sent = [transfer(nonce, wei=10) for nonce in range(4)]
    for transaction in sent:
        seal(ledger, transaction)
    seen: list[tuple[int, int]] = []
    rebuild(store, lambda done, total: seen.append((done, total)))
    assert seen == [(number, 5) for number in range(1, 6)]
    again = Ledger(store, RULES, GENESIS)
    assert [balance(again, BOB, number) for number in range(5)] == [0, 10, 20, 30, 40]
    assert store.locate_transaction(sent[2].hash) == (3, 0)
    assert again.trie.prove(again.header(2).state_root, BOB).balance == 20
    seal(again, transfer(4, wei=10))
    assert balance(again, BOB, 5) == 50
    store.close()


def test_a_record_that_does_not_lead_to_its_root_stops_a_rebuild() -> None:
    store = Store.temporary()
    ledger = Ledger(store, RULES, GENESIS)
    seal(ledger, transfer(0))
    record = build(ledger, transfer(1)).record
    store.append(msgspec.structs.replace(record, changes=()), [])
    with pytest.raises(ReplayDiffers, match="block 2 does not come out as recorded"):
        rebuild(store)
    store.close()
