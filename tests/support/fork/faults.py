"""Faults: a proxy's treatment of a request instead of passing it on, or to the chain behind it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, Final, TypeAlias

import msgspec
from aiohttp import web

Fault: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse | None]]

_JSON: Final = "application/json"
_PIECE: Final = b"0" * (1 << 20)


def error_of(code: int, message: str, data: object = None) -> dict[str, Any]:
    return {"code": code, "message": message} | ({} if data is None else {"data": data})


def status(code: int, text: str = "", **headers: str) -> Fault:
    """Respond with a status, and headers whose names have underscores for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def respond(request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(status=code, text=text, headers=named)

    return respond


def too_many_requests(retry_after: str | None = None) -> Fault:
    """Respond with 429, and perhaps with when to come again: seconds or a date."""
    return status(429, "slow down", **({} if retry_after is None else {"Retry_After": retry_after}))


def rejected(code: int, message: str) -> Fault:
    """Respond to every request with one error, as a gateway does."""

    async def respond(request: web.Request) -> web.StreamResponse:
        body = msgspec.json.decode(await request.read())
        members = body if isinstance(body, list) else [body]
        answers = [
            {"jsonrpc": "2.0", "id": member["id"], "error": error_of(code, message)}
            for member in members
        ]
        return web.json_response(answers if isinstance(body, list) else answers[0])

    return respond


def body_of(body: bytes, content_type: str = _JSON) -> Fault:
    async def respond(request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(body=body, content_type=content_type)

    return respond


def deep_json(depth: int) -> Fault:
    return body_of(b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * depth + b"]" * depth + b"}")


async def dropped(request: web.Request) -> web.StreamResponse | None:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def truncated(request: web.Request) -> web.StreamResponse | None:
    """Promise more bytes than come, and close the connection."""
    response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": _JSON})
    with contextlib.suppress(ConnectionError):
        await response.prepare(request)
        await response.write(b'{"jsonrpc":"2.0","id":1,"res')
    assert request.transport is not None
    request.transport.abort()
    return response


async def stalled(request: web.Request) -> web.StreamResponse | None:
    del request
    await asyncio.Event().wait()
    return None


def together(count: int) -> Fault:
    there = 0
    all_there = asyncio.Event()

    async def respond(request: web.Request) -> web.StreamResponse | None:
        nonlocal there
        del request
        there += 1
        if there == count:
            all_there.set()
        await all_there.wait()
        return None

    return respond


def rate_limited(per_second: int) -> Fault:
    """Let so many requests of a second pass, and respond to more with 429."""
    window = [0.0, 0]

    async def respond(request: web.Request) -> web.StreamResponse | None:
        now = time.monotonic()
        if now - window[0] > 1:
            window[:] = [now, 0]
        window[1] += 1
        return None if window[1] <= per_second else await too_many_requests()(request)

    return respond


def flaky(faults: Sequence[Fault], share: float, random: Random) -> Fault:
    """Let one of several things happen to a share of the requests."""

    async def respond(request: web.Request) -> web.StreamResponse | None:
        return await random.choice(faults)(request) if random.random() < share else None

    return respond


def huge(size: int) -> Fault:
    """Respond with so many bytes of a JSON string, in pieces, without saying how many."""

    async def respond(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": _JSON})
        await response.prepare(request)
        # Who has read enough of it hangs up.
        with contextlib.suppress(ConnectionError):
            await response.write(b'{"jsonrpc":"2.0","id":1,"result":"0x')
            for _ in range(size // len(_PIECE)):
                await response.write(_PIECE)
            await response.write(b'"}')
        return response

    return respond


class Reorganisation(msgspec.Struct, frozen=True):
    """A block of a number that has another hash than before."""

    number: int
    old: str
    new: str

    def result(self, method: str, params: list[Any], result: Any) -> Any:
        """Return what a node responds that has the new block."""
        if method == "eth_getBlockByHash" and params[0] == self.old:
            return None
        if method == "eth_getBlockByNumber" and isinstance(result, dict):
            if result.get("number") == hex(self.number):
                return result | {"hash": self.new}
            if result.get("number") == hex(self.number + 1):
                return result | {"parentHash": self.new}
        return result
