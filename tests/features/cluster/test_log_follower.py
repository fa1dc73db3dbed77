"""A chain that another node seals, followed by the log of the cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from entresol.chain.chain import Chain
from entresol.chain.events import BlockSealed, BlocksReverted
from entresol.errors import DepositsNotNext
from entresol.features.cluster.log_follower import Follower, apply_entry
from entresol.features.cluster.postgres.tables import PostgresLog, read_page
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
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
from entresol.storage.tables import START
from tests.support.chain.dev_chain import (
    deposit,
    execute_block,
    open_chain,
    transaction,
)
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
