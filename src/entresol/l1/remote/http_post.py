"""One POST to a server that is not trusted: a limit of time and bytes, and errors that may be tried again."""

from __future__ import annotations

import asyncio
import base64
import functools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

from entresol.l1.remote.post_connection import (
    BodyTooLong,
    NoResponse,
    PostConnection,
    ReceivedResponse,
)

if TYPE_CHECKING:
    import ssl

__all__ = ["NO_RESPONSE", "BodyTooLong", "HttpPost", "NoResponse", "PostResponse"]

NO_RESPONSE: Final = "no response"
"""How the text of a `NoResponse` begins if there was none in time."""

MAX_CONNECTIONS: Final = 100
MAX_IDLE_SECONDS: Final = 15.0
"""How long a connection is kept without a request: servers close theirs after a while."""
MAX_REDIRECTS: Final = 10
HAPPY_EYEBALLS_SECONDS: Final = 0.25
"""After which another address of a host is tried, beside one that does not respond."""

_REDIRECTS: Final = frozenset({301, 302, 307, 308})
_SAFE: Final = "%/:=&?~#+!$,;'@()*[]"
_PORTS: Final = {"http": 80, "https": 443}


class PostResponse(NamedTuple):
    """What a server responded."""

    status: int
    body: bytes
    retry_after: str | None = None
    """When to come again, as the server says it: seconds, or a date."""


class HttpPost:
    """Posts JSON to one URL.

    Not by aiohttp, whose import takes longer than the rest of a fork's start. Remembers: connections. Persists: nothing.
    Assumes: one event loop. Fails: with `NoResponse`, whose text may have the secrets of the URL.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float,
        headers: Sequence[tuple[str, str]] = (),
        follows_redirects: bool = True,
    ) -> None:
        self._url = url
        self._timeout = timeout
        self._headers = tuple(headers)
        self._follows_redirects = follows_redirects
        self._targets: dict[str, _Target] = {}
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)

    async def post(self, body: bytes, max_bytes: int, within: float | None = None) -> PostResponse:
        """Return the response to a body, which has at most `max_bytes`, whatever its status is."""
        seconds = self._timeout if within is None else within
        try:
            async with asyncio.timeout(seconds), self._slots:
                response = await self._followed(body, max_bytes)
        except TimeoutError as error:
            raise NoResponse(f"{NO_RESPONSE} in {seconds:g} seconds") from error
        except (OSError, ValueError) as error:
            raise NoResponse(str(error) or type(error).__name__) from error
        retry_after = response.headers.get(b"retry-after")
        return PostResponse(
            response.status,
            response.body,
            None if retry_after is None else retry_after.decode("latin-1"),
        )

    async def close(self) -> None:
        """Close the connections."""
        for target in self._targets.values():
            target.close()
        self._targets.clear()

    async def _followed(self, body: bytes, max_bytes: int) -> ReceivedResponse:
        """Return the response of the server that the URL leads to."""
        url = self._url
        for _ in range(MAX_REDIRECTS):
            response = await self._target(url).post(body, max_bytes)
            location = response.headers.get(b"location")
            follows = self._follows_redirects and response.status in _REDIRECTS
            if not follows or location is None:
                return response
            url = urljoin(url, location.decode("latin-1"))
        raise NoResponse(f"it redirects more than {MAX_REDIRECTS} times")

    def _target(self, url: str) -> _Target:
        target = self._targets.get(url)
        if target is None:
            parts, own = urlsplit(url), urlsplit(self._url)
            is_own = (parts.scheme, parts.netloc) == (own.scheme, own.netloc)
            if len(self._targets) > MAX_REDIRECTS:
                raise NoResponse("it redirects to ever other places")
            target = self._targets[url] = _Target(parts, self._headers if is_own else ())
        return target


class _Target:
    """A URL with the connections to its host."""

    def __init__(self, parts: SplitResult, headers: Sequence[tuple[str, str]]) -> None:
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError(f"{parts.scheme}:// is not http:// or https:// with a host")
        self._is_tls = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port or _PORTS[parts.scheme]
        self._head = _head(parts, headers)
        self._idle: list[tuple[float, PostConnection]] = []

    async def post(self, body: bytes, max_bytes: int) -> ReceivedResponse:
        connection = self._kept() or await self._connected()
        try:
            response = await connection.request(
                b"%b%d\r\n\r\n%b" % (self._head, len(body), body), max_bytes
            )
        except BaseException:
            connection.close()
            raise
        if connection.is_reusable:
            self._idle.append((time.monotonic(), connection))
        else:
            connection.close()
        return response

    def close(self) -> None:
        for _, connection in self._idle:
            connection.close()
        self._idle.clear()

    def _kept(self) -> PostConnection | None:
        """Return a connection that is open, the one that was used last."""
        oldest = time.monotonic() - MAX_IDLE_SECONDS
        while self._idle:
            used, connection = self._idle.pop()
            if used >= oldest and connection.is_reusable:
                return connection
            connection.close()
        return None

    async def _connected(self) -> PostConnection:
        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {}
        if self._is_tls:
            options["ssl"] = await loop.run_in_executor(None, _tls)
        if isinstance(loop, asyncio.BaseEventLoop):
            # uvloop does not have it.
            options["happy_eyeballs_delay"] = HAPPY_EYEBALLS_SECONDS
        _, connection = await loop.create_connection(
            PostConnection, self._host, self._port, **options
        )
        return connection


@functools.cache
def _tls() -> ssl.SSLContext:
    # Only what is encrypted needs it, and the certificates of all authorities take long to read.
    import ssl  # noqa: PLC0415

    return ssl.create_default_context()


def _head(parts: SplitResult, headers: Sequence[tuple[str, str]]) -> bytes:
    """Return a request up to the length of its body."""
    host = parts.netloc.rpartition("@")[2]
    path = quote(parts.path or "/", _SAFE)
    query = f"?{quote(parts.query, _SAFE)}" if parts.query else ""
    fields = {
        "Host": host.encode("idna").decode() if not host.isascii() else host,
        "User-Agent": "entresol",
        "Accept": "*/*",
        "Accept-Encoding": "gzip, deflate",
        "Content-Type": "application/json",
    }
    if parts.username is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        fields["Authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
    given = {name.lower() for name, _ in headers}
    lines = [it for it in fields.items() if it[0].lower() not in given] + list(headers)
    for line in lines:
        if any(letter in part for part in line for letter in "\r\n\0"):
            raise ValueError("a header has a line break")
    text = "".join(f"{name}: {value}\r\n" for name, value in lines)
    return f"POST {path}{query} HTTP/1.1\r\n{text}Content-Length: ".encode()
