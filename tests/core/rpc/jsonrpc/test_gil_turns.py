from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from entresol.offload import POLICY
from entresol.rpc.jsonrpc.errors import ResponseSizeError
from entresol.rpc.jsonrpc.gil_turns import cooperatively, within_limit


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let every look at the clock take a quarter of a turn, and note the pauses."""
    made: list[float] = []
    ticks = iter(range(10_000))
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks) * POLICY.turn_seconds / 4)
    monkeypatch.setattr(time, "sleep", made.append)
    return made


def test_a_worker_pauses_after_each_turn(pauses: list[float]) -> None:
    with ThreadPoolExecutor(1) as workers:
        assert workers.submit(lambda: list(cooperatively(range(20)))).result() == list(range(20))
    assert len(pauses) == 4
    assert min(pauses) > 0


def test_an_event_loop_does_not(pauses: list[float]) -> None:
    async def work() -> list[int]:
        return list(cooperatively(range(20)))

    with asyncio.Runner() as runner:
        assert runner.run(work()) == list(range(20))
    assert pauses == []


def test_the_parts_of_a_response_may_fill_its_limit_and_not_exceed_it() -> None:
    assert list(within_limit([b"ab", b"c"], 3, len)) == [b"ab", b"c"]
    with pytest.raises(ResponseSizeError):
        list(within_limit([b"ab", b"cd"], 3, len))
