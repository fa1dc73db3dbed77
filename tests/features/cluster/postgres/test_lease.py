"""The lease: one producer at a time."""

from __future__ import annotations

import asyncio

from entresol.features.cluster.postgres.lease import give_up_lease, read_lease, take_lease
from tests.support.cluster.postgres import LEASE_SECONDS, EmptyCluster


async def test_a_lease_that_is_held_cannot_be_taken_but_by_its_holder(
    cluster: EmptyCluster,
) -> None:
    async with cluster.connected() as connection:
        first = await take_lease(connection, "a", "http://a", LEASE_SECONDS)
        assert first is not None
        assert first.epoch == 1
        assert await take_lease(connection, "b", "http://b", LEASE_SECONDS) is None
        again = await take_lease(connection, "a", "http://a", LEASE_SECONDS)
        assert again is not None
        assert again.epoch == 2
        found = await read_lease(connection)
        assert (found.holder, found.url, found.is_free) == ("a", "http://a", False)
        assert abs(found.distance.skew_seconds) < 2


async def test_a_lease_is_free_once_it_expires_or_is_given_up(cluster: EmptyCluster) -> None:
    async with cluster.connected() as connection:
        for holder, leave in (("a", True), ("b", False)):
            held = await take_lease(connection, holder, "", LEASE_SECONDS)
            assert held is not None
            if leave:
                await give_up_lease(connection, held.epoch, holder)
            else:
                await cluster.expire(connection)
            assert (await read_lease(connection)).is_free


async def test_of_many_that_race_for_a_lease_one_gets_it(cluster: EmptyCluster) -> None:
    async def race(holder: str) -> bool:
        async with cluster.connected() as connection:
            return await take_lease(connection, holder, "", LEASE_SECONDS) is not None

    won = await asyncio.gather(*(race(str(number)) for number in range(8)))
    assert sum(won) == 1
