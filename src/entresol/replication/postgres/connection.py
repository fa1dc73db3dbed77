"""Connections to the cluster's database, with the settings that the rules of a cluster need."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from entresol.errors import ClusterUnreachable, InvalidConfig
from entresol.replication.postgres.address import FLAG

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from entresol.replication.postgres.address import ClusterAddress

MIN_VERSION: Final = 14
SCHEMA: Final = "entresol"

BROKEN: Final = (
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    # A connection that ends in the middle of something leaves the driver confused.
    asyncpg.InternalClientError,
)
"""What a statement fails with, also if the connection is lost."""

_UNREACHABLE: Final = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.QueryCanceledError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.TargetServerAttributeNotMatched,
)
_REJECTED: Final = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
    asyncpg.ClientConfigurationError,
)


class ClusterDatabase:
    """Opens connections to the database of a cluster.

    A session reads what is committed, waits for the commit to be durable, and gives up within a part of the lease, so
    that a producer that was stopped holds no lock beyond it. Fails: with `ClusterUnreachable`, or with an
    `InvalidConfig` if the server rejects the user, the password or the database.
    """

    def __init__(
        self, address: ClusterAddress, lease_seconds: float, timeout_seconds: float | None = None
    ) -> None:
        self.address = address
        self.lease_seconds = lease_seconds
        self.timeout_seconds = lease_seconds / 2 if timeout_seconds is None else timeout_seconds
        """How long a statement may take; less than the lease, so that a lost connection is noticed within it."""

    async def connect(self) -> asyncpg.Connection[Any]:
        """Return a connection to a server that accepts writes."""
        with self.translated():
            connection = await self._connect()
        version = connection.get_server_version()
        if version.major < MIN_VERSION:
            await connection.close()
            problem = f"this is PostgreSQL {version.major}, and {MIN_VERSION} or newer is needed"
            raise InvalidConfig(FLAG, problem)
        return connection

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[asyncpg.Connection[Any]]:
        """Connect, and close the connection at the end."""
        connection = await self.connect()
        try:
            with self.translated():
                yield connection
        finally:
            await self.close(connection)

    async def close(self, connection: asyncpg.Connection[Any]) -> None:
        """Close a connection, which may be broken."""
        try:
            await connection.close(timeout=1.0)
        except Exception:  # noqa: BLE001 - the server is gone
            connection.terminate()

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """Raise what the driver fails with as errors of the cluster, without anything secret."""
        try:
            yield
        except _REJECTED as error:
            raise InvalidConfig(FLAG, f"{self.address.redacted}: {_problem(error)}") from None
        except _UNREACHABLE as error:
            raise ClusterUnreachable(self.address.redacted, _problem(error)) from None

    async def _connect(self) -> asyncpg.Connection[Any]:
        milliseconds = str(int(self.timeout_seconds * 1000))
        seconds = str(max(1, int(self.timeout_seconds)))
        return await asyncpg.connect(
            self.address.url,
            timeout=self.timeout_seconds,
            command_timeout=self.timeout_seconds,
            target_session_attrs=SessionAttribute.read_write,
            server_settings={
                "application_name": "entresol",
                "search_path": SCHEMA,
                "default_transaction_isolation": "read committed",
                "synchronous_commit": "on",
                "statement_timeout": milliseconds,
                "idle_in_transaction_session_timeout": milliseconds,
                "tcp_user_timeout": milliseconds,
                "tcp_keepalives_idle": seconds,
                "tcp_keepalives_interval": seconds,
                "tcp_keepalives_count": "2",
            },
        )


def _problem(error: BaseException) -> str:
    """Return what is wrong; the driver's messages name users and databases, but no passwords."""
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return "it does not respond in time"
    return str(error).split("\n", maxsplit=1)[0] or type(error).__name__


class Notifications:
    """Wakes a follower when the log has a new entry.

    Remembers: whether something happened since the last wait. Assumes: a direct connection, not one through a pooler of
    transactions.
    """

    def __init__(self) -> None:
        self._event = asyncio.Event()

    async def listen(self, connection: asyncpg.Connection[Any], channel: str) -> None:
        """Subscribe to a channel of a connection; its end wakes, too."""
        await connection.add_listener(channel, lambda *_: self._event.set())
        on_end: Callable[..., None] = lambda *_: self._event.set()  # noqa: E731 - the driver wants a callable
        connection.add_termination_listener(on_end)

    def wake(self) -> None:
        """End the current wait, or the next one."""
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Wait for a notification, at most so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
        self._event.clear()
