"""JSON-RPC over HTTP to an L1: requests, retries, and what error responses mean."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec

from entresol._native import revert_reason
from entresol.errors import (
    ExecutionReverted,
    LayerOneFailed,
    LayerOneMalformed,
    LayerOneRejected,
    LayerOneUnreachable,
    MalformedValue,
)
from entresol.l1.urls import Endpoint
from entresol.primitives.values import Data

if TYPE_CHECKING:
    from aiohttp import ClientSession, StreamReader

NO_RESPONSE: Final = "no response"
"""How the text of a `NoResponse` begins if there was none in time."""
_PIECE_BYTES: Final = 64 << 10
LARGE_BYTES: Final = 1 << 20
"""From so many bytes on a body is a large one."""
MAX_LARGE: Final = 2
"""How many large bodies are received at the same time; others stay with their servers meanwhile."""

T = TypeVar("T")
FIRST_RETRY_SECONDS: Final = 0.1
MAX_RESPONSE_BYTES: Final = 64 << 20
MAX_READ_BYTES: Final = 4 << 20
"""How long a response to `read` may be, whose method and parameters a client chose."""
UNEXPECTED_RESPONSE: Final = 0
"""The code of a rejection whose response is not what the method returns."""
_REVERTED: Final = 3
_OVERLOADED: Final = frozenset({-32005, -32016, 429})
_UNKNOWN_BLOCK: Final = re.compile(
    r"\bnot found\b|\bunknown block\b|\bno block\b|\bdoesn't exist\b"
)
# The request is well-formed, so invalid parameters mean that the range is too wide.
_LIMIT_CODES: Final = frozenset({-32602, -32614, -32047})
_LIMIT_WORDS: Final = re.compile(
    r"(?<!invalid block )\brange|\bblocks\b|\bresults?\b|\bsize\b|\btoo (large|big|wide|long)\b"
    r"|\b(query|request|execution) time(d )?-?out"
)


class NoResponse(Exception):  # noqa: N818  # caught where it is known what was asked for
    """The server did not respond as it should; a retry may succeed."""

    def __init__(self, text: str, kind: str | None = None) -> None:
        super().__init__(text)
        self.kind = kind or text
        """The text without what the server, or a name server, has said."""


class BodyTooLong(NoResponse):
    """The response is longer than it may be; a retry for less may succeed."""


class PostResponse(NamedTuple):
    """The response of a server."""

    status: int
    body: bytes
    retry_after: str | None = None
    """When to come again, as the server says it: seconds, or a date."""


class HttpPost:
    """Posts JSON to one URL. Fails: with `NoResponse`, whose text may have the secrets of the URL."""

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


class _Response(msgspec.Struct):
    """A response; its result is decoded by the caller."""

    result: msgspec.Raw = msgspec.Raw(b"null")
    error: Any = None


class JsonRpcClient:
    """A JSON-RPC client of one URL.

    Remembers: a connection. Fails: with `LayerOneUnreachable` after several attempts with increasing delays, with
    `LayerOneRejected`, `LayerOneMalformed`, or `ExecutionReverted`; none of them contains a secret of the URL.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        attempts: int,
        timeout: float,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._endpoint = endpoint
        self._attempts = attempts
        self._sleep = sleep
        self._http = HttpPost(endpoint.url, timeout=timeout)

    async def fetch(self, decode: Callable[[Any], T], method: str, *params: object) -> T:
        """Return the result of a method, decoded by `decode`; raises `LayerOneMalformed` if that fails."""
        result = await self.request(method, *params)
        try:
            return decode(result)
        except MalformedValue as error:
            raise LayerOneMalformed(method, str(error)) from error

    async def request(self, method: str, *params: object) -> Any:
        """Return the result of a method; retry while L1 is unreachable, overloaded or behind."""
        delay = FIRST_RETRY_SECONDS
        failure: LayerOneFailed | None = None
        for attempt in range(self._attempts):
            if attempt:
                await self._sleep(delay)
                delay *= 2
            try:
                response = await self._post(method, params, MAX_RESPONSE_BYTES)
                return _decode(self._result(method, response))
            except BodyTooLong as error:
                # It will not be shorter the next time; of logs a smaller range is.
                problem = f"the response is too large: {error}"
                raise LayerOneRejected(method, UNEXPECTED_RESPONSE, problem) from error
            except NoResponse as error:
                failure = self._unreachable(error)
            except LayerOneRejected as rejection:
                if not _may_lag(params, rejection):
                    raise
                failure = rejection
        assert failure is not None, "there is at least one attempt"
        raise failure

    async def read(self, method: str, *params: object) -> msgspec.Raw:
        """Return the result of any method as it came, if it is not long, from one attempt."""
        try:
            return self._result(method, await self._post(method, params, MAX_READ_BYTES))
        except NoResponse as error:
            raise self._unreachable(error) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    def _unreachable(self, error: NoResponse) -> LayerOneUnreachable:
        return LayerOneUnreachable(self._endpoint.redacted, self._endpoint.redact(str(error)))

    def _result(self, method: str, response: _Response) -> msgspec.Raw:
        error = response.error
        if error is None:
            return response.result
        if not isinstance(error, dict) or not isinstance(error.get("code", 0), int):
            # A gateway in front of the node, for instance one that checks keys, may not speak JSON-RPC.
            raise LayerOneRejected(method, UNEXPECTED_RESPONSE, self._endpoint.redact(str(error)))
        code, message = error.get("code", 0), self._endpoint.redact(str(error.get("message", "")))
        # Some providers use the same code for too many requests and for too many logs.
        if code in _OVERLOADED and not (
            method == "eth_getLogs" and exceeds_range_limit(code, message)
        ):
            raise NoResponse(message)
        if code == _REVERTED or "execution reverted" in message:
            data = _revert_data(error.get("data"))
            raise ExecutionReverted(data, revert_reason(data) or _after_colon(message))
        raise LayerOneRejected(method, code, message)

    async def _post(self, method: str, params: Sequence[object], max_bytes: int) -> _Response:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        status, body = await self.exchange(msgspec.json.encode(request), max_bytes)
        try:
            return msgspec.json.decode(body.decode(), type=_Response)
        except UnicodeDecodeError as error:
            raise NoResponse("the response is not UTF-8") from error
        except msgspec.ValidationError as error:
            raise NoResponse("the response is not JSON-RPC") from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise NoResponse(f"HTTP status {status} without JSON") from error

    async def exchange(self, body: bytes, max_bytes: int) -> tuple[int, bytes]:
        """Return the HTTP status and the body of the response to a request."""
        response = await self._http.post(body, max_bytes)
        if response.status == 429 or response.status >= 500:
            raise NoResponse(f"HTTP status {response.status}")
        return response.status, response.body


def _decode(result: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(result)
    except msgspec.DecodeError as error:
        raise NoResponse(f"the result cannot be read: {error}") from error


def _may_lag(params: Sequence[object], rejection: LayerOneRejected) -> bool:
    """Return whether a block that was named by its hash is unknown: another node behind the URL may have it."""
    is_named = any(isinstance(param, dict) and "blockHash" in param for param in params)
    return is_named and _UNKNOWN_BLOCK.search(rejection.message.lower()) is not None


def _revert_data(data: object) -> bytes:
    try:
        return bytes(Data.parse(data))
    except MalformedValue:
        return b""


def _after_colon(message: str) -> str | None:
    return message.partition("execution reverted: ")[2] or None


def exceeds_range_limit(code: int, message: str) -> bool:
    """Return whether an error means that the range is too wide; every provider words it differently."""
    return code in _LIMIT_CODES or _LIMIT_WORDS.search(message.lower()) is not None
