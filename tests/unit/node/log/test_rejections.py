"""Telling of rejected requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from entresol.node.log import rejections
from entresol.node.log.rejections import TOLD, RejectionLog
from entresol.node.log.text import TextLines
from entresol.rpc.jsonrpc.connection import LocalConnection
from entresol.rpc.jsonrpc.transport_errors import JSON_RPC
from entresol.server.documents import DocumentRejections
from entresol.server.responses import HttpResponse, wrong_host

REJECTIONS = DocumentRejections(JSON_RPC, body_limit=1_000)


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

    def reject(self, times: int = 1, response: HttpResponse = REJECTIONS.wrong_method) -> None:
        for _ in range(times):
            self.log(response, LocalConnection())


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
    ("response", "reason"),
    [
        (REJECTIONS.wrong_method, "405: use POST, with a JSON-RPC request as the body"),
        (REJECTIONS.too_large, "413: Request is too big"),
        (REJECTIONS.malformed, "400: Parse error"),
        (REJECTIONS.rate_limited, "429: Too many requests"),
        (wrong_host(b"evil"), "add it to its allowed hosts"),
    ],
)
def test_a_rejection_is_logged_with_its_reason(
    heard: Heard, response: HttpResponse, reason: str
) -> None:
    heard.reject(response=response)
    (line,) = heard.lines
    assert line.endswith(reason)


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
