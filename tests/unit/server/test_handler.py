"""Responses of handlers and pages, at once or through an awaitable."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from entresol.server.handler import completed


async def _later() -> bytes:
    return b"later"


@pytest.mark.parametrize(
    ("respond", "body"), [(lambda: b"now", b"now"), (_later, b"later")], ids=["now", "later"]
)
def test_a_response_is_completed(
    respond: Callable[[], bytes | Awaitable[bytes]], body: bytes
) -> None:
    async def scenario() -> bytes:
        return await completed(respond())

    assert asyncio.run(scenario()) == body
