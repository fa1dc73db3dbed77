"""The node that requests are passed to."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp import web

from entresol.errors import ProducerUnavailable
from entresol.features.cluster.upstream import (
    NOT_PRODUCER,
    PATH,
    ClusterHandler,
    HttpUpstream,
)
from entresol.listeners import Listeners
from entresol.server.handler import LocalConnection

SEQ = 7


def answer(path: str) -> bytes | None:
    production = SimpleNamespace(is_over=False)
    member = cast("Any", SimpleNamespace(seq=SEQ, production=production))
    handler = ClusterHandler(member, lambda body, _connection: body, cast("Any", None))
    response = handler(b"{}", LocalConnection(path))
    assert inspect.isawaitable(response)

    async def awaited() -> bytes | None:
        return await response

    return asyncio.run(awaited())


def test_a_producer_answers_with_its_own_position() -> None:
    assert answer(f"{PATH}{SEQ}") == b"7\n{}"


@pytest.mark.parametrize(
    "position",
    ["8", "", "-1", "+1", "1.0", "1/", "\u0663", "9" * 5_000, "0" * 5_000 + "1", "x"],
    ids=[
        "later",
        "none",
        "negative",
        "signed",
        "fraction",
        "path",
        "arabic",
        "huge",
        "long",
        "text",
    ],
)
def test_a_position_that_it_has_not_applied_is_not_answered(position: str) -> None:
    assert answer(PATH + position) == NOT_PRODUCER


class View:
    """What a replica knows of its cluster."""

    url = "http://itself"
    production = None

    def __init__(self, producer_url: str | None = None) -> None:
        self.producer_url = producer_url
        self.seq = SEQ
        self.awaited: list[int] = []
        self.changed: Listeners[[]] = Listeners()

    async def wait_for(self, seq: int) -> None:
        self.awaited.append(seq)

    async def wait_for_change(self) -> None:
        await asyncio.Event().wait()


Respond = Callable[[web.Request], Awaitable[web.Response]]


@contextlib.asynccontextmanager
async def node(respond: Respond) -> AsyncIterator[str]:
    """Run a node that responds to what is forwarded, and yield its address."""
    app = web.Application()
    app.router.add_post(f"{PATH}{{seq}}", respond)
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


async def forwarded(view: View, seconds: float = 30.0, path: str = "/") -> bytes | None:
    """Return the response to a request that a replica forwards."""
    prepared: list[None] = []

    async def before() -> None:
        prepared.append(None)

    upstream = HttpUpstream(view, seconds, 0.0, before)
    try:
        response = await upstream.forward(
            b"request", LocalConnection(path), waits=False, ordered=True
        )
    finally:
        await upstream.close()
    assert prepared == [None]
    return response


def test_a_response_comes_after_this_node_has_applied_what_the_producer_had() -> None:
    async def respond(request: web.Request) -> web.Response:
        assert (request.match_info["seq"], await request.read()) == (str(SEQ), b"request")
        return web.Response(body=b"9\n{}")

    async def scenario() -> tuple[bytes | None, list[int]]:
        async with node(respond) as url:
            view = View(url)
            return await forwarded(view), view.awaited

    assert asyncio.run(scenario()) == (b"{}", [9])


def test_a_request_goes_to_the_next_producer_if_the_last_one_does_not_respond() -> None:
    async def scenario() -> bytes | None:
        reached = asyncio.Event()

        async def stand_still(_request: web.Request) -> web.Response:
            reached.set()
            await asyncio.Event().wait()
            raise AssertionError

        async def respond(_request: web.Request) -> web.Response:
            return web.Response(body=b"8\nnext")

        async with node(stand_still) as former, node(respond) as following:
            view = View(former)
            request = asyncio.create_task(forwarded(view))
            await reached.wait()
            view.producer_url = following
            view.changed.notify()
            return await request

    assert asyncio.run(scenario()) == b"next"


def test_without_a_producer_a_request_fails_at_its_deadline_and_says_why() -> None:
    with pytest.raises(ProducerUnavailable, match="no node of the cluster produces blocks"):
        asyncio.run(forwarded(View(), seconds=0.01))
