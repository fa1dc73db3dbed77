"""Subscribers of a replica have every event of the producer's chain, also of blocks that were reverted since."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.chain.chain import Chain
from entresol.chain.events import BlockSealed, BlocksReverted, Event, TransactionPending
from entresol.features.workers.publisher import (
    ShippedEvents,
    StatePublisher,
    encode_pending,
    encode_reverted,
)
from entresol.features.workers.state_page import StatePage
from entresol.primitives.transactions import Transaction, impersonate
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import ALICE, BOB, deposit, open_chain, transaction


class Shipping:
    """A producer that ships its events to a replica, through bytes."""

    def __init__(self, chain: Chain) -> None:
        self.page = StatePage.create()
        self.replica = ShippedEvents(chain.blocks)
        self._chain = chain
        self._published = self.replica.events.subscribe()
        self._expected = chain.events.subscribe()
        StatePublisher(chain, self.page, self)

    def on_sealed(self, number: int) -> None:
        self.replica.on_sealed(self._chain.ledger.store.encoded_record(number))

    def on_reverted(self, event: BlocksReverted) -> None:
        self.replica.on_reverted(encode_reverted(event))

    def on_transaction(self, transaction: Transaction) -> None:
        self.replica.on_transaction(encode_pending(transaction))

    def taken(self) -> tuple[list[Event], list[Event]]:
        """Return what was published on the replica, and on the producer."""
        return self._published.take()[0], self._expected.take()[0]


@pytest.fixture
def chain() -> Iterator[Chain]:
    opened = open_chain()
    yield opened
    opened.close()


@pytest.fixture
def shipping(chain: Chain) -> Iterator[Shipping]:
    created = Shipping(chain)
    yield created
    created.page.close()


def test_blocks_that_came_and_went_are_published_in_order(chain: Chain, shipping: Shipping) -> None:
    for nonce in range(2):
        InlineSequencer(chain).send(transaction(nonce, to=BOB, wei=5))
    chain.history.rewind(0)
    chain.builder.seal()
    replica, producer = shipping.taken()
    shown = [it for it in replica if not isinstance(it, TransactionPending)]
    assert [type(it) for it in shown] == [BlockSealed, BlockSealed, BlocksReverted, BlockSealed]
    assert [_identity(it) for it in replica] == [_identity(it) for it in producer]


def _identity(event: Event) -> object:
    match event:
        case BlockSealed():
            return event.hash
        case BlocksReverted():
            return event.head, [record.header_rlp for record in event.records]
        case TransactionPending():
            return event.transaction.hash


def test_pending_transactions_without_a_key_are_published(chain: Chain, shipping: Shipping) -> None:
    chain.schedule.seal_on_request()
    chain.enqueue(deposit(0))
    sent = impersonate(transaction(0).payload, ALICE)  # type: ignore[arg-type]
    chain.add(sent)
    replica, producer = shipping.taken()
    assert [_identity(it) for it in replica] == [_identity(it) for it in producer]
    assert len(replica) == 2


def test_blocks_that_become_final_are_announced_though_nothing_else_happens(
    chain: Chain, shipping: Shipping
) -> None:
    chain.builder.seal()
    chain.set_finality(safe=1)
    chain.set_finality(finalized=1)
    found = shipping.page.read()
    assert found is not None
    version, state = found
    assert (state.safe, state.finalized) == (1, 1)
    # The same again is nothing new.
    chain.set_finality(safe=1, finalized=1)
    assert shipping.page.version == version
