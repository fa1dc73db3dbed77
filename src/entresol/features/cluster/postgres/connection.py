"""Connections to the cluster's database, with the settings that the rules of a cluster need."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from entresol.errors import InvalidConfig
from entresol.features.cluster.errors import ClusterUnreachable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

SCHEMES: Final = frozenset({"postgresql", "postgres"})
FLAG: Final = "--cluster"

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
"""The errors that a statement fails with, also if the connection is lost."""

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

MAX_SKEW_SECONDS: Final = 2.0
"""A node whose clock differs more from the database's does not take over: timestamps of blocks come from its clock."""

SLOW_SECONDS: Final = 0.25
"""A longer round trip is reported: a block takes one, and what batches and settlement persist takes more."""


class ClusterAddress:
    """A PostgreSQL URL as libpq reads it; what it leaves out comes from the `PG*` variables."""

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            # Reading the port checks it.
            self._port = parts.port
            query = parse_qs(parts.query)
        except ValueError:
            raise _invalid() from None
        if parts.scheme not in SCHEMES:
            raise _invalid()
        self.url = url
        """The whole URL, with the password."""
        self._host = parts.hostname or query.get("host", [""])[0]
        self._database = unquote(parts.path.removeprefix("/"))

    @property
    def redacted(self) -> str:
        """Host, port and database: what may be shown."""
        port = "" if self._port is None else f":{self._port}"
        return f"postgresql://{self._host}{port}/{self._database}"

    def __repr__(self) -> str:
        return f"ClusterAddress({self.redacted!r})"


def _invalid() -> InvalidConfig:
    # The URL may contain a password, so it is not repeated.
    return InvalidConfig(
        FLAG, "this is not a URL of a PostgreSQL database, as postgresql://user@host:5432/database"
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


class DatabaseDistance(NamedTuple):
    """The distance to the database, by one request."""

    skew_seconds: float
    """How far the clock of this node is ahead of the database's."""
    round_trip_seconds: float

    @classmethod
    def since(cls, sent: float, *, clock: float) -> Self:
        """Return the distance by a request that was sent then, by this node's clock, and returned the database's."""
        now = time.time()
        return cls((sent + now) / 2 - clock, now - sent)

    @property
    def is_skewed(self) -> bool:
        """Whether the clocks differ too much."""
        return abs(self.skew_seconds) > MAX_SKEW_SECONDS

    @property
    def problem(self) -> str | None:
        """A problem to tell an operator; None if neither is unusual."""
        if self.is_skewed:
            where = "ahead of" if self.skew_seconds > 0 else "behind"
            return (
                f"the clock of this node is {abs(self.skew_seconds):.1f} s {where} the database's"
            )
        if self.round_trip_seconds > SLOW_SECONDS:
            milliseconds = self.round_trip_seconds * 1000
            return f"a round trip to the database takes {milliseconds:.0f} ms, so blocks are slow"
        return None
