"""Responses that come when clients have forgotten what they cached."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from entresol.chain.chain import Chain
from entresol.rpc.namespaces.eth.transactions import ResponseHold
from tests.support.chain.dev_chain import open_chain

SECONDS = 0.05


@pytest.fixture
def chain() -> Iterator[Chain]:
    opened = open_chain()
    yield opened
    opened.close()


async def taken(chain: Chain, seconds: float, *, fails: bool = False) -> float:
    """Return how long a response takes that is there at once."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[str] = loop.create_future()
    if fails:
        future.set_exception(ValueError("no"))
    else:
        future.set_result("sent")
    start = loop.time()
    held = ResponseHold(chain, seconds).hold(future)
    if fails:
        with pytest.raises(ValueError, match="no"):
            await held
    else:
        assert await held == "sent"
    return loop.time() - start


def test_a_response_comes_after_the_time_that_it_is_held(chain: Chain) -> None:
    assert asyncio.run(taken(chain, SECONDS)) >= SECONDS * 0.99


def test_an_error_is_not_held(chain: Chain) -> None:
    assert asyncio.run(taken(chain, 60.0, fails=True)) < 60.0


def test_nothing_is_held_unless_blocks_are_sealed_at_once(chain: Chain) -> None:
    chain.schedule.seal_on_request()
    assert asyncio.run(taken(chain, 60.0)) < 60.0


def test_without_a_time_the_response_is_the_same() -> None:
    chain = open_chain()
    try:
        response = asyncio.sleep(0, "sent")
        held = ResponseHold(chain, 0.0).hold(response)
        assert held is response
        assert asyncio.run(response) == "sent"
    finally:
        chain.close()
