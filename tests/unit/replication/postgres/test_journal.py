"""The journal of a producer: what happens when a write fails, or nobody knows whether it did."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from entresol.errors import ClusterFenced, OutcomeUnknown
from entresol.replication.own_store import Follower
from entresol.replication.postgres.lease import take_lease
from entresol.replication.postgres.tables import PostgresLog
from entresol.storage.log_entries import ConfirmedEntry
from tests.support.chain.dev_chain import open_chain, transaction
from tests.support.cluster.database import LEASE_SECONDS, EmptyCluster, play
from tests.support.cluster.postgres import Postgres


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_write_with_an_unknown_outcome_is_applied_once_if_the_log_has_it(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, *, is_committed: bool
) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
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

    play(postgres, scenario)


def test_a_caller_that_is_cancelled_does_not_interrupt_its_write(postgres: Postgres) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
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

    play(postgres, scenario)


def test_a_producer_that_was_fenced_applies_nothing(postgres: Postgres) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
        chain = open_chain()
        async with cluster.connected() as connection, cluster.connected() as other:
            sealer = await cluster.producer(connection, chain)
            await cluster.expire(other)
            assert await take_lease(other, "b", "", LEASE_SECONDS) is not None
            chain.add(transaction(0))
            with pytest.raises(ClusterFenced):
                await sealer.seal()
            assert chain.number == 0
            assert sealer.journal.failed.is_set()
        chain.close()

    play(postgres, scenario)
