"""The durable pool: rows are what is acknowledged and in no block, also for the next producer."""

from __future__ import annotations

from entresol.replication.postgres.journal import read_pool
from tests.support.chain.dev_chain import open_chain, transaction
from tests.support.cluster.database import EmptyCluster, play
from tests.support.cluster.postgres import Postgres


def test_rows_follow_what_is_added_replaced_and_included(postgres: Postgres) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
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

    play(postgres, scenario)


def test_the_next_producer_has_the_pool_in_the_order_of_arrival(postgres: Postgres) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
        first, second = open_chain(), open_chain()
        waiting = [transaction(1, by=index) for index in (2, 0, 1)]
        async with cluster.connected() as connection:
            sealer = await cluster.producer(connection, first)
            for it in waiting:
                first.add(it)
                await sealer.round()
            await cluster.expire(connection)
            await cluster.producer(connection, second, "b")
            assert [it.hash for it in second.pool] == [it.hash for it in waiting]
        first.close()
        second.close()

    play(postgres, scenario)
