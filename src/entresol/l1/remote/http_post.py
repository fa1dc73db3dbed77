"""One POST to a server that is not trusted: a limit of time and bytes, and errors that may be tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from aiohttp import ClientSession, StreamReader

NO_RESPONSE: Final = "no response"
"""How the text of a `NoResponse` begins if there was none in time."""
_PIECE_BYTES: Final = 64 << 10
LARGE_BYTES: Final = 1 << 20
"""From so many bytes on a body is a large one."""
MAX_LARGE: Final = 2
"""How many large bodies are received at the same time; others stay with their servers meanwhile."""


class NoResponse(Exception):  # noqa: N818  # caught where it is known what was asked for
    """The server did not respond as it should; a retry may succeed."""

    def __init__(self, text: str, kind: str | None = None) -> None:
        super().__init__(text)
        self.kind = kind or text
        """The text without what the server, or a name server, has said."""


class BodyTooLong(NoResponse):
    """The response is longer than it may be; a retry for less may succeed."""


class PostResponse(NamedTuple):
    """What a server responded."""

    status: int
    body: bytes
    retry_after: str | None = None
    """When to come again, as the server says it: seconds, or a date."""


class HttpPost:
    """Posts JSON to one URL.

    Remembers: connections. Persists: nothing. Assumes: one event loop. Fails: with `NoResponse`, whose text may have
    the secrets of the URL.
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
        self._headers = [("Content-Type", "application/json"), *headers]
        self._follows_redirects = follows_redirects
        self._session: ClientSession | None = None
        self._large = asyncio.Semaphore(MAX_LARGE)

    async def post(self, body: bytes, max_bytes: int, within: float | None = None) -> PostResponse:
        """Return the response to a body, which has at most `max_bytes`, whatever its status is."""
        # Imported here, since a node with the embedded L1 does not need it.
        import aiohttp  # noqa: PLC0415

        if self._session is None:
            self._session = aiohttp.ClientSession()
        seconds = self._timeout if within is None else within
        try:
            async with self._session.post(
                self._url,
                data=body,
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(total=seconds),
                allow_redirects=self._follows_redirects,
            ) as response:
                retry_after = response.headers.get("Retry-After")
                received = await read_bounded(response.content, max_bytes, self._large)
                return PostResponse(response.status, received, retry_after)
        except TimeoutError as error:
            raise NoResponse(f"{NO_RESPONSE} in {seconds:g} seconds") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            kind = type(error).__name__
            raise NoResponse(str(error) or kind, f"the connection failed ({kind})") from error

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


async def read_bounded(content: StreamReader, max_bytes: int, large: asyncio.Semaphore) -> bytes:
    """Return the body of a response, unless it is too long; a `large` one is received in its turn."""
    body = bytearray()
    async with AsyncExitStack() as turn:
        is_large = False
        async for piece in content.iter_chunked(_PIECE_BYTES):
            if not is_large and len(body) + len(piece) > LARGE_BYTES:
                is_large = True
                await turn.enter_async_context(large)
            body += piece
            if len(body) > max_bytes:
                raise BodyTooLong(f"the response has more than {max_bytes} bytes")
        return bytes(body)
