"""Who is a member of a cluster, as its database says."""

from __future__ import annotations

import asyncio

from entresol.replication.postgres.reporting import Membership

LONG_SECONDS = 60.0


def test_an_id_that_is_not_known_is_asked_for_at_once() -> None:
    async def main() -> None:
        members = Membership()
        waiting = asyncio.ensure_future(members.wait(LONG_SECONDS))
        await asyncio.sleep(0)
        assert "a" not in members
        await waiting
        members.update(frozenset({"a"}))
        assert "a" in members

    asyncio.run(main())


def test_an_id_that_is_known_is_not_asked_for() -> None:
    async def main() -> None:
        members = Membership()
        members.update(frozenset({"a"}))
        assert "a" in members
        waiting = asyncio.ensure_future(members.wait(LONG_SECONDS))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()

    asyncio.run(main())
