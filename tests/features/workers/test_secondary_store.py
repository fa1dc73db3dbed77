"""A chain that another process seals, read from its store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.chain.chain import Chain
from entresol.chain.events import BlockSealed, BlocksReverted
from entresol.chain.fees import FeeModel
from entresol.features.workers.publisher import StatePublisher
from entresol.features.workers.secondary_store import SecondaryStore, StoreFollower
from entresol.features.workers.state_page import StatePage
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Hash32
from entresol.replication.router import ReplicaState
from entresol.rollup.batches import SealingPolicy
from entresol.sequencer.sequencer import InlineSequencer
from entresol.storage.store import Store
from tests.support.chain.dev_chain import (
    ALICE,
    BOB,
    transaction,
)
from tests.support.chain.log_emitter import EmittingChain

NEVER = SealingPolicy(max_age=1e9)
COMMIT = SettlementStep.COMMIT
DONE = SettlementTransaction(Hash32(bytes(31) + b"\x01"), 7, 1_000)


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
