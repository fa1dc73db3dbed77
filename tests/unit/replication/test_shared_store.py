"""A chain on the store of another process follows what its producer announces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.chain.chain import Chain
from entresol.chain.events import BlockSealed, BlocksReverted
from entresol.chain.fees import FeeModel
from entresol.dev.reverts import Reverts
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.transactions import Transaction
from entresol.replication.router import ReplicaState
from entresol.replication.shared_store import SecondaryStore, StoreFollower
from entresol.replication.workers.publisher import StatePublisher
from entresol.replication.workers.state_page import StatePage
from entresol.sequencer.sequencer import InlineSequencer
from entresol.server.handler import LocalConnection
from entresol.storage.store import Store
from tests.support.chain.dev_chain import ALICE, BOB, transaction
from tests.support.chain.log_emitter import EmittingChain


class Nobody:
    """No subscribers."""

    def on_sealed(self, number: int) -> None: ...

    def on_reverted(self, event: BlocksReverted) -> None: ...

    def on_transaction(self, transaction: Transaction) -> None: ...


class Pair:
    """A producer and a follower, in one process."""

    def __init__(self) -> None:
        pattern = EmittingChain.begin()
        rules, genesis = pattern.rules, pattern.genesis
        pattern.close()
        self.producer = Chain(Store.temporary(shared=True), rules, genesis)
        self.producer.schedule.seal_on_request()
        self.page = StatePage.create()
        self.fees, self.followed_fees = FeeModel(), FeeModel()
        self.publisher = StatePublisher(self.producer, self.page, Nobody(), self.fees)
        self.store = SecondaryStore.at(self.producer.ledger.store.path)
        self.replica = Chain(self.store, rules, genesis)
        self.events = self.replica.events.subscribe()
        self.stale = 0
        self.follower = StoreFollower(
            *(self.replica, self.store, self.page),
            on_stale=self._count_stale,
            fees=self.followed_fees,
        )
        self.follower.catch_up()
        self.events.take()

    def _count_stale(self) -> None:
        self.stale += 1

    def seal(self, *transactions: Transaction) -> None:
        for it in transactions:
            InlineSequencer(self.producer).send(it)
        self.producer.builder.seal()

    def catch_up(self) -> list[str]:
        """Follow, and return what was published."""
        self.follower.catch_up()
        events, _ = self.events.take()
        return [
            f"+{event.number}"
            if isinstance(event, BlockSealed)
            else f"-{event.head}:{len(event.records)}"
            for event in events
            if isinstance(event, BlockSealed | BlocksReverted)
        ]

    def close(self) -> None:
        self.replica.close()
        self.producer.close()
        self.page.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    created = Pair()
    yield created
    created.close()


def balance(chain: Chain) -> int:
    account = chain.latest.account(BOB)
    return 0 if account is None else account.balance


def test_it_follows_blocks_and_their_state(pair: Pair) -> None:
    pair.seal(transaction(0, to=BOB, wei=5))
    assert balance(pair.replica) != balance(pair.producer)
    pair.seal()
    assert pair.catch_up() == ["+2"]
    assert pair.replica.ledger.head_hash == pair.producer.ledger.head_hash
    assert balance(pair.replica) == balance(pair.producer)
    assert pair.catch_up() == []


def test_it_has_the_prices_of_its_producer_as_soon_as_those_change(pair: Pair) -> None:
    before = pair.page.version
    pair.fees.observe(7)
    pair.fees.set_ether_price(EtherPrice(2**128 - 1, 2**120 + 1))
    assert pair.page.version > before, "announced, although nothing happens on the chain"
    assert pair.catch_up() == []
    assert pair.followed_fees.quoted() == pair.fees.quoted()
    assert pair.followed_fees.current().base_fee == 255 * 10**8 + 10**8


def test_what_is_not_announced_is_not_read(pair: Pair) -> None:
    sent = transaction(0, to=BOB, wei=5)
    pair.seal(sent)
    pair.store.catch_up()
    assert pair.replica.number == 0
    assert pair.replica.blocks.locate_transaction(sent.hash) is None
    assert pair.replica.blocks.block_number(pair.producer.ledger.head_hash) is None
    assert pair.catch_up() == ["+1"]
    assert pair.replica.blocks.locate_transaction(sent.hash) == (1, 0)


def test_a_revert_is_published_with_its_block(pair: Pair) -> None:
    pair.seal(transaction(0, to=BOB, wei=5))
    pair.seal(transaction(1, to=BOB, wei=5))
    pair.catch_up()
    pair.producer.history.rewind(0)
    pair.seal()
    assert pair.catch_up() == ["-0:0", "+1"]
    assert pair.replica.ledger.head_hash == pair.producer.ledger.head_hash
    assert balance(pair.replica) == balance(pair.producer)


def test_what_came_and_went_between_two_looks_is_not_published(pair: Pair) -> None:
    pair.seal()
    pair.catch_up()
    reverts = Reverts(pair.producer)
    checkpoint = reverts.checkpoint()
    for _ in range(100):
        pair.seal()
        reverts.restore(checkpoint)
        checkpoint = reverts.checkpoint()
    pair.seal()
    published = pair.catch_up()
    assert published[-1] == "+2"
    assert pair.replica.ledger.head_hash == pair.producer.ledger.head_hash


def test_it_is_stale_while_the_store_is_rewritten(pair: Pair) -> None:
    pair.seal()
    pair.page.begin_rewrite()
    assert pair.catch_up() == []
    assert (pair.follower.state, pair.stale) == (ReplicaState.STALE, 1)
    pair.publisher.sync()
    assert pair.catch_up() == ["+1"]
    assert (pair.follower.state, pair.stale) == (ReplicaState.WORKER, 1)


def is_edited(pair: Pair) -> bool:
    pair.publisher.sync()
    pair.catch_up()
    return pair.follower.state is ReplicaState.EDITED


def test_it_knows_of_edits_and_finality(pair: Pair) -> None:
    pair.seal()
    pair.producer.set_finality(safe=1, finalized=1)
    pair.producer.edit(ALICE, lambda it: it.set_balance(ALICE, 7))
    assert is_edited(pair)
    assert (pair.replica.finality.safe, pair.replica.finality.finalized) == (1, 1)
    pair.seal()
    assert not is_edited(pair)
    account = pair.replica.latest.account(ALICE)
    assert account is not None
    assert account.balance == 7


def test_a_chain_that_is_replaced_is_followed(pair: Pair) -> None:
    pair.seal()
    pair.catch_up()
    other = EmittingChain.begin()
    for _ in range(3):
        other.builder.seal()
    Reverts(pair.producer).replace(other.ledger.store)
    assert pair.catch_up()[-1] == "+3"
    assert pair.replica.ledger.head_hash == pair.producer.ledger.head_hash
    other.close()


def test_a_request_is_handled_after_what_was_announced_is_applied(pair: Pair) -> None:
    handle = pair.follower.serving(lambda _body, _connection: b"%d" % pair.replica.number)
    before = handle(b"", LocalConnection())
    pair.seal()
    assert (before, handle(b"", LocalConnection())) == (b"0", b"1")


def test_a_stale_replica_tries_to_catch_up_at_each_request(pair: Pair) -> None:
    handle = pair.follower.serving(lambda _body, _connection: pair.follower.state.name.encode())
    pair.page.begin_rewrite()
    pair.producer.builder.seal()
    pair.page.begin_rewrite()
    stale = [handle(b"", LocalConnection()) for _ in range(2)]
    pair.publisher.sync()
    assert [*stale, handle(b"", LocalConnection())] == [b"STALE", b"STALE", b"WORKER"]
    assert pair.stale == 1
