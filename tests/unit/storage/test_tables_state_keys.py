"""Listing the keys of a state."""

from __future__ import annotations

from entresol.chain.chain import Chain
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import ALICE, NOBODY, open_chain, transaction


def set_slot(chain: Chain, slot: int, value: int) -> None:
    """Set a slot of an account that has nothing else but a balance."""
    chain.edit(NOBODY, lambda it: it.set_slot(NOBODY, slot.to_bytes(32), value.to_bytes(32)))


def test_each_address_is_listed_once_however_often_it_changed() -> None:
    chain = open_chain()
    for nonce in range(3):
        InlineSequencer(chain).send(transaction(nonce))
    listed = list(chain.ledger.store.state_keys.addresses())
    chain.close()
    assert listed == sorted(set(listed))
    assert {bytes(ALICE), bytes(NOBODY)} <= set(listed)


def test_slots_are_those_of_one_account() -> None:
    chain = open_chain()
    chain.edit(NOBODY, lambda it: it.set_balance(NOBODY, 1))
    for value in (1, 0, 2):
        for slot in (7, 9):
            set_slot(chain, slot, value)
        chain.builder.seal()
    keys = chain.ledger.store.state_keys
    assert list(keys.slots(NOBODY)) == [(7).to_bytes(32), (9).to_bytes(32)]
    assert list(keys.slots(ALICE)) == []
    chain.close()
