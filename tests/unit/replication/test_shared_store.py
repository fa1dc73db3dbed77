"""A chain that another process seals, followed by its log or in its store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from entresol.chain.chain import Chain
from entresol.chain.events import BlockSealed, BlocksReverted
from entresol.chain.fees import FeeModel
from entresol.errors import DepositsNotNext
from entresol.features.cluster.postgres.tables import PostgresLog, read_page
from entresol.features.workers.publisher import StatePublisher
from entresol.features.workers.state_page import StatePage
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Hash32
from entresol.replication.router import ReplicaState
from entresol.replication.shared_store import Follower, SecondaryStore, StoreFollower, apply_entry
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.sequencer.sequencer import InlineSequencer
from entresol.storage import tables
from entresol.storage.log_entries import (
    BlockEntry,
    ConfirmedEntry,
    DepositsEntry,
    Entry,
    OutgoingEntry,
    SettledEntry,
    UnsettledEntry,
    UnwindEntry,
)
from entresol.storage.store import Store
from entresol.storage.tables import START
from tests.support.chain.dev_chain import (
    ALICE,
    BOB,
    deposit,
    execute_block,
    open_chain,
    transaction,
)
from tests.support.chain.log_emitter import EmittingChain
from tests.support.chain.records import dump
from tests.support.cluster.postgres import EmptyCluster

NEVER = SealingPolicy(max_age=1e9)
COMMIT = SettlementStep.COMMIT
DONE = SettlementTransaction(Hash32(bytes(31) + b"\x01"), 7, 1_000)


def rows_of(chain: Chain) -> dict[bytes, bytes]:
    return dump(chain.ledger.store)


async def produce(cluster: EmptyCluster, chain: Chain) -> None:
    async with cluster.connected() as connection:
        sealer = await cluster.producer(connection, chain)
        batcher = Batcher(chain.blocks, chain.batches, NEVER, journal=sealer.journal)
        chain.enqueue(deposit(0))
        chain.add(transaction(0))
        await sealer.seal()
        chain.add(transaction(1))
        await sealer.round()
        await batcher.seal(0.0)
        write = sealer.journal.write
        await write(OutgoingEntry(COMMIT, b"raw"))
        await write(SettledEntry.of(range(1, 2), COMMIT, DONE, ends_outgoing=True))
        await write(ConfirmedEntry(2, 0))
        await write(DepositsEntry(9, bytes(32), 1))
        chain.add(transaction(2))
        await sealer.seal()
        await write(UnwindEntry(2))
        await write(UnsettledEntry(COMMIT, 1, 1))
        chain.add(transaction(2, wei=5))
        await sealer.seal()


async def test_a_store_that_follows_is_identical_to_the_producers(cluster: EmptyCluster) -> None:
    producer, replica = open_chain(), open_chain()
    Batcher(replica.blocks, replica.batches, NEVER)  # The batch of the genesis.
    await produce(cluster, producer)
    async with cluster.connected() as connection:
        follower = Follower(replica, lambda _: None)
        assert await follower.catch_up(PostgresLog(connection)) == 11
        assert await follower.catch_up(PostgresLog(connection)) == 0
    assert rows_of(replica) == rows_of(producer)
    assert replica.ledger.store.position.get().seq == 11
    assert (replica.finality.safe, replica.head.hash()) == (2, producer.head.hash())
    assert replica.blocks.next_priority_id() == 1
    replica.verify()
    producer.close()
    replica.close()


async def test_a_follower_announces_what_the_producer_announces(cluster: EmptyCluster) -> None:
    producer, replica = open_chain(), open_chain()
    heard = [it.events.subscribe() for it in (producer, replica)]
    await produce(cluster, producer)
    async with cluster.connected() as connection:
        await Follower(replica, lambda _: None).catch_up(PostgresLog(connection))
    announced = [
        [
            (type(it), it.hash if isinstance(it, BlockSealed) else it.head)
            for it in subscription.take()[0]
            if isinstance(it, BlockSealed | BlocksReverted)
        ]
        for subscription in heard
    ]
    assert announced[0] == announced[1]
    assert len(announced[0]) == 5
    producer.close()
    replica.close()


async def test_a_follower_that_stopped_anywhere_goes_on_there(
    cluster: EmptyCluster, tmp_path: Path
) -> None:
    producer = open_chain()
    await produce(cluster, producer)
    async with cluster.connected() as connection:
        for stop in range(12):
            replica = open_chain(tmp_path / str(stop))
            Batcher(replica.blocks, replica.batches, NEVER)
            for position, entry in (await read_page(connection, START))[:stop]:
                apply_entry(replica, entry, position)
            replica.close()
            replica = open_chain(tmp_path / str(stop))
            assert replica.ledger.store.position.get().seq == stop
            await Follower(replica, lambda _: None).catch_up(PostgresLog(connection))
            assert rows_of(replica) == rows_of(producer)
            assert replica.finality == producer.finality
            replica.close()
    producer.close()


def test_the_position_is_part_of_the_write_of_its_entry(tmp_path: Path) -> None:
    chain = open_chain(tmp_path)
    rows: list[bytes] = []
    store = chain.ledger.store
    written = store._db._write

    def spy(batch: object, puts: object, options: object) -> None:
        rows.append(tables.POSITION if store._db.along else b"")
        written(batch, puts, options)  # type: ignore[arg-type]

    store._db._write = spy  # type: ignore[method-assign]
    block = BlockEntry.of(execute_block(chain.ledger, transaction(0)).record, None)
    entries: list[Entry] = [block, UnwindEntry(1), ConfirmedEntry(1, 1)]
    for seq, entry in enumerate(entries, start=1):
        apply_entry(chain, entry, START._replace(seq=seq))
        assert store.position.get().seq == seq
    assert rows == [tables.POSITION] * 3
    chain.close()


async def test_a_block_whose_deposits_do_not_continue_the_chains_is_rejected(
    cluster: EmptyCluster,
) -> None:
    producer = open_chain()
    async with cluster.connected() as connection:
        sealer = await cluster.producer(connection, producer)
        producer.enqueue(deposit(0))
        await sealer.seal()
        # A queue that is stale has a deposit again that a block has.
        producer.enqueue(deposit(0))
        with pytest.raises(DepositsNotNext):
            await sealer.seal()
        assert producer.number == 1
        assert isinstance(sealer.journal.failure, DepositsNotNext)
        assert await connection.fetchval("select seq from lease") == 1
    replica = open_chain()
    twice = execute_block(replica.ledger, *producer.ledger.record(1).decoded())
    apply_entry(replica, BlockEntry.of(twice.record, None), START._replace(seq=1))
    again = execute_block(replica.ledger, *producer.ledger.record(1).decoded())
    with pytest.raises(DepositsNotNext):
        apply_entry(replica, BlockEntry.of(again.record, None), START._replace(seq=2))
    assert replica.ledger.store.position.get().seq == 1
    producer.close()
    replica.close()


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
