"""Telling of rejected requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from entresol.node.log import rejections
from entresol.node.log.rejections import TOLD, RejectionLog
from entresol.node.log.text import TextLines
from entresol.rpc.jsonrpc.connection import LocalConnection
from entresol.server.responses import PARSE_REFUSAL, RATE_REFUSAL, WRONG_VERB, HttpResponse, too_big


class Heard:
    """A rejection log, what it told, and a clock that stands until it is moved."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.now = 1_000.0
        self.summary = asyncio.Event()
        self.log = RejectionLog(TextLines(colours=False), self._take)

    def _take(self, line: str) -> None:
        self.lines.append(line)
        if line.endswith(" more"):
            self.summary.set()

    def reject(self, times: int = 1, reply: HttpResponse = WRONG_VERB) -> None:
        for _ in range(times):
            self.log(reply, LocalConnection())  # type: ignore[arg-type]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    heard = Heard()
    monkeypatch.setattr(rejections, "monotonic", lambda: heard.now)
    return heard


def on_loop(work: Callable[[], None]) -> None:
    async def run() -> None:
        work()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (WRONG_VERB, "405: use POST, with a JSON-RPC request as the body"),
        (too_big(1_000), "413: Request is too big"),
        (PARSE_REFUSAL, "400: Parse error"),
        (RATE_REFUSAL, "429: Too many requests"),
    ],
)
def test_a_rejection_is_told_by_its_own_words(heard: Heard, reply: HttpResponse, told: str) -> None:
    heard.reject(reply=reply)
    (line,) = heard.lines
    assert line.endswith(told)


def test_few_rejections_are_all_told_however_often_there_are_few(heard: Heard) -> None:
    for second in range(5):
        heard.now = 1_000.0 + second
        heard.reject(TOLD)
    assert len(heard.lines) == 5 * TOLD


def test_a_flood_is_told_as_a_number_with_the_next_rejection(heard: Heard) -> None:
    on_loop(lambda: heard.reject(TOLD + 1_000))
    assert len(heard.lines) == TOLD
    heard.now += 1.0
    heard.reject()
    assert heard.lines[TOLD] == "(rejected) 1,000 more"
    assert len(heard.lines) == TOLD + 2


def test_a_flood_that_ends_is_told_as_a_number_all_the_same(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejections, "SPAN_SECONDS", 0.01)

    async def flood() -> None:
        heard.reject(TOLD + 3)
        async with asyncio.timeout(20):
            await heard.summary.wait()

    asyncio.run(flood())
    assert heard.lines[TOLD:] == ["(rejected) 3 more"]
