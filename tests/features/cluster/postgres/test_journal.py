"""The log of a cluster, its pool and its unwinding."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from entresol.errors import (
    BelowSettledBatch,
    ClusterFenced,
    InvalidConfig,
    LogTruncated,
    OutcomeUnknown,
)
from entresol.features.cluster.log_follower import Follower
from entresol.features.cluster.postgres.journal import PoolChanges, PoolRow, plan_unwind, read_pool
from entresol.features.cluster.postgres.lease import take_lease
from entresol.features.cluster.postgres.tables import PostgresLog, read_page
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.rollup.settlement.pending_tx import PendingSettlement
from entresol.storage.log_entries import (
    ConfirmedEntry,
    Entry,
    OutgoingEntry,
    SettledEntry,
    UnsettledEntry,
    UnwindEntry,
)
from entresol.storage.tables import START
from tests.support.chain.dev_chain import deposit, open_chain, transaction
from tests.support.cluster.postgres import LEASE_SECONDS, EmptyCluster

ROWS = [PoolRow(bytes([index]) * 32, bytes([index]), index) for index in range(3)]

COMMIT = SettlementStep.COMMIT
BY = SettlementTransaction(Hash32(bytes(32)), 1, 1)
PENDING = PendingSettlement(COMMIT, 1, 1, 0, (transaction(0).raw,))
SETTLED = SettledEntry.of(range(1, 2), COMMIT, BY, ends_outgoing=True)
OUTGOING = OutgoingEntry(COMMIT, PENDING.encode())


@pytest.mark.parametrize("is_committed", [True, False])
async def test_a_write_with_an_unknown_outcome_is_applied_once_if_the_log_has_it(
    cluster: EmptyCluster, monkeypatch: pytest.MonkeyPatch, *, is_committed: bool
) -> None:
    chain = open_chain()
    async with cluster.connected() as connection, cluster.connected() as other:
        sealer = await cluster.producer(connection, chain)
        fetch = connection.fetchrow

        async def lose(*arguments: Any) -> None:
            if is_committed:
                await fetch(*arguments)
            raise ConnectionResetError

        monkeypatch.setattr(type(connection), "fetchrow", lambda _, *it: lose(*it))
        chain.add(transaction(0))
        with pytest.raises(OutcomeUnknown):
            await sealer.seal()
        monkeypatch.undo()
        assert chain.number == 0
        # Nothing else is written by this producer.
        with pytest.raises(OutcomeUnknown):
            await sealer.journal.write(ConfirmedEntry(0, 0))
        assert await take_lease(other, "a", "", LEASE_SECONDS) is not None
        await Follower(chain, lambda _: None).catch_up(PostgresLog(other))
        assert chain.number == int(is_committed)
        again = await cluster.producer(other, chain)
        await again.round()
        assert chain.number == 1
        assert chain.blocks.locate_transaction(transaction(0).hash) is not None
        assert await other.fetchval("select count(*) from log where kind = 'block'") == 1
    chain.close()


async def test_a_caller_that_is_cancelled_does_not_interrupt_its_write(
    cluster: EmptyCluster,
) -> None:
    chain = open_chain()
    async with cluster.connected() as connection:
        sealer = await cluster.producer(connection, chain)
        writing = asyncio.create_task(sealer.journal.write(ConfirmedEntry(0, 0)))
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await sealer.journal.write(ConfirmedEntry(0, 0))
        assert chain.ledger.store.position.get().seq == 2
    chain.close()


async def test_rows_follow_what_is_added_replaced_and_included(cluster: EmptyCluster) -> None:
    chain = open_chain()
    async with cluster.connected() as connection:
        sealer = await cluster.producer(connection, chain)

        async def hashes() -> list[bytes]:
            await sealer.round()
            return [row.hash for row in await read_pool(connection)]

        waiting = [transaction(2), transaction(3), transaction(1, by=1)]
        for it in waiting:
            chain.add(it)
        assert await hashes() == [it.hash for it in waiting]
        replacement = transaction(3, wei=9, tip=10**9)
        chain.add(replacement)
        assert await hashes() == [waiting[0].hash, waiting[2].hash, replacement.hash]
        for nonce in (0, 1):
            chain.add(transaction(nonce))
        assert await hashes() == [waiting[2].hash]
        assert chain.number == 1
    chain.close()


async def test_entries_have_consecutive_numbers_and_chained_digests(cluster: EmptyCluster) -> None:
    async with cluster.connected() as connection:
        writer = await cluster.writer(connection)
        await writer.write([ConfirmedEntry(1, 0), ConfirmedEntry(2, 1)], 5)
        await writer.write([UnwindEntry(3)], 3)
        page = await read_page(connection, START)
        assert [it.position.seq for it in page] == [1, 2, 3]
        assert [it.entry for it in page] == [
            ConfirmedEntry(1, 0),
            ConfirmedEntry(2, 1),
            UnwindEntry(3),
        ]
        assert page[-1].position == writer.end
        assert await connection.fetchval("select head from lease") == 3


async def test_a_producer_that_was_fenced_writes_nothing(cluster: EmptyCluster) -> None:
    async with cluster.connected() as first, cluster.connected() as second:
        old = await cluster.writer(first)
        await cluster.expire(first)
        new = await cluster.writer(second, "b")
        with pytest.raises(ClusterFenced):
            await old.write([UnwindEntry(1)], 1, PoolChanges(ROWS))
        assert await read_page(second, START) == []
        assert await read_pool(second) == []
        await new.write([UnwindEntry(2)], 2)
        assert [it.entry for it in await read_page(first, START)] == [UnwindEntry(2)]


async def test_a_broken_connection_leaves_the_outcome_unknown(cluster: EmptyCluster) -> None:
    async with cluster.connected() as connection, cluster.connected() as other:
        writer = await cluster.writer(connection)
        await other.execute("select pg_terminate_backend($1)", connection.get_server_pid())
        with pytest.raises(OutcomeUnknown):
            await writer.write([UnwindEntry(1)], 1)


async def test_transactions_of_canonical_blocks_are_pending_again_in_their_order(
    cluster: EmptyCluster,
) -> None:
    chain = open_chain()
    async with cluster.connected() as connection:
        sealer = await cluster.producer(connection, chain)
        for nonce in range(3):
            if nonce == 1:
                chain.enqueue(deposit(0))
            chain.add(transaction(nonce))
            await sealer.seal()
        await sealer.journal.write(UnwindEntry(2))
        chain.add(transaction(2, wei=5))
        await sealer.seal()
        plan = await plan_unwind(connection, 1)
        expected = [transaction(1), transaction(2, wei=5)]
        assert plan.entry == UnwindEntry(1)
        assert [it.hash for it in plan.pending] == [it.hash for it in expected]
        assert [it.raw for it in plan.pending] == [it.raw for it in expected]
        assert [it.arrived for it in plan.pending] == [-2, -1]
        for number in (-1, 3, 9):
            with pytest.raises(InvalidConfig, match="--to"):
                await plan_unwind(connection, number)
        await connection.execute("delete from log where seq = 4")
        with pytest.raises(LogTruncated):
            await plan_unwind(connection, 0)
    chain.close()


@pytest.mark.parametrize(
    ("entries", "is_allowed"),
    [
        ([], True),
        ([OUTGOING], False),
        ([OUTGOING, OutgoingEntry(COMMIT, b"")], True),
        ([OUTGOING, SETTLED], False),
        ([SETTLED, UnsettledEntry(COMMIT, 1, 1)], True),
    ],
    ids=["sealed", "under way", "dropped", "committed", "removed by a reorg"],
)
async def test_a_batch_that_l1_has_or_may_get_is_not_undone(
    cluster: EmptyCluster, entries: list[Entry], *, is_allowed: bool
) -> None:
    chain = open_chain()
    async with cluster.connected() as connection:
        sealer = await cluster.producer(connection, chain)
        batcher = Batcher(
            chain.blocks, chain.batches, SealingPolicy(max_age=1e9), journal=sealer.journal
        )
        chain.add(transaction(0))
        await sealer.seal()
        await batcher.seal(0.0)
        chain.add(transaction(1))
        await sealer.seal()
        for entry in entries:
            await sealer.journal.write(entry)
        assert len((await plan_unwind(connection, 1)).pending) == 1
        if is_allowed:
            assert len((await plan_unwind(connection, 0)).pending) == 2
        else:
            with pytest.raises(BelowSettledBatch):
                await plan_unwind(connection, 0)
    chain.close()


async def test_every_write_renews_the_lease(cluster: EmptyCluster) -> None:
    async with cluster.connected() as connection:
        writer = await cluster.writer(connection)
        await connection.execute("update lease set valid_until = clock_timestamp()")
        await writer.write([], 0)
        assert await connection.fetchval("select valid_until > clock_timestamp() from lease")
