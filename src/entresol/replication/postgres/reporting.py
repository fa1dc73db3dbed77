"""Report each node of a cluster to its database, for operators, and so that the producer knows the members."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from entresol.background_task import BackgroundTask
from entresol.errors import EntresolError
from entresol.replication.postgres.connection import BROKEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.replication.postgres.connection import ClusterDatabase
    from entresol.replication.postgres.member import Member

REPORT_SECONDS: Final = 1.0
MIN_SECONDS: Final = 0.1
"""However many clients name members that do not exist, the database is queried no more often."""
FORGET_AFTER: Final = "1 hour"

_REPORT: Final = """
insert into node (id, url, role, epoch, seq, head, seen)
values ($1, $2, $3, $4, $5, $6, clock_timestamp())
on conflict (id) do update set url = $2, role = $3, epoch = $4, seq = $5, head = $6, seen = clock_timestamp()
"""
_FORGET: Final = "delete from node where id = $1 or seen < clock_timestamp() - $2::text::interval"
_MEMBERS: Final = "select id from node"


class Membership:
    """The members of the cluster by their ids, which are random and only in its database.

    Remembers: the ids read last. Persists: nothing. Fails: never; a member that joined since is known a moment later.
    """

    def __init__(self) -> None:
        self._ids: frozenset[str] = frozenset()
        self._missed = asyncio.Event()

    def __contains__(self, member: object) -> bool:
        if member in self._ids:
            return True
        self._missed.set()
        return False

    def update(self, ids: frozenset[str]) -> None:
        """Take the ids that the database has."""
        self._ids = ids

    async def wait(self, seconds: float) -> None:
        """Sleep, but not beyond the lookup of an id that is not known."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._missed.wait()
        self._missed.clear()


class Reporter:
    """Reports a node to the database, and reads the members from it while the node produces.

    Remembers: the members. Persists: a row of the table `node`, until the node ends. Assumes: one event loop. Fails:
    never; it connects again.
    """

    def __init__(
        self,
        member: Member,
        database: ClusterDatabase,
        head: Callable[[], int],
    ) -> None:
        self.members = Membership()
        self._member = member
        self._database = database
        self._head = head
        self._task = BackgroundTask("the report to the cluster", self._run)

    @property
    def problem(self) -> str | None:
        """Why nothing is reported; None while the database has the reports, or cannot be reached, as the member says."""
        return self._task.problem

    async def start(self) -> None:
        """Report from now on."""
        self._task.start()

    async def stop(self) -> None:
        """Report no more."""
        await self._task.stop()

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(EntresolError, OSError):
                await self._session()
            await asyncio.sleep(REPORT_SECONDS)

    async def _session(self) -> None:
        member = self._member
        async with self._database.session() as connection:
            try:
                while True:
                    state = (member.role, member.epoch, member.seq, self._head())
                    await connection.execute(_REPORT, member.id, member.url, *state)
                    if member.production is not None:
                        rows = await connection.fetch(_MEMBERS)
                        self.members.update(frozenset(row["id"] for row in rows))
                    await asyncio.sleep(MIN_SECONDS)
                    await self.members.wait(REPORT_SECONDS - MIN_SECONDS)
            finally:
                # An error here would take the place of a cancellation.
                with contextlib.suppress(*BROKEN):
                    await connection.execute(_FORGET, member.id, FORGET_AFTER)
