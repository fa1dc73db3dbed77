from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from entresol.rpc.jsonrpc.errors import JSON_RPC
from entresol.server.handler import LocalConnection
from entresol.server.responses import DocumentRejections, HttpResponse, wrong_host
from entresol.terminal import transactions
from entresol.terminal.formats import TextLogFormat
from entresol.terminal.transactions import MAX_LOGGED_REJECTIONS, RejectionLog

REJECTIONS = DocumentRejections(JSON_RPC, body_limit=1_000)


class Recorded:
    """A rejection log, its lines, and a clock that is moved by hand."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.now = 1_000.0
        self.summary = asyncio.Event()
        self.log = RejectionLog(TextLogFormat(colours=False), self._write)

    def _write(self, line: str) -> None:
        self.lines.append(line)
        if line.endswith(" more"):
            self.summary.set()

    def reject(self, times: int = 1, response: HttpResponse = REJECTIONS.wrong_method) -> None:
        for _ in range(times):
            self.log(response, LocalConnection())


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    recorded = Recorded()
    monkeypatch.setattr(transactions, "monotonic", lambda: recorded.now)
    return recorded


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
    recorded: Recorded, response: HttpResponse, reason: str
) -> None:
    recorded.reject(response=response)
    (line,) = recorded.lines
    assert line.endswith(reason)


def test_rejections_within_the_limit_are_all_logged(recorded: Recorded) -> None:
    for second in range(5):
        recorded.now = 1_000.0 + second
        recorded.reject(MAX_LOGGED_REJECTIONS)
    assert len(recorded.lines) == 5 * MAX_LOGGED_REJECTIONS


def test_a_flood_is_counted_with_the_next_rejection(recorded: Recorded) -> None:
    on_loop(lambda: recorded.reject(MAX_LOGGED_REJECTIONS + 1_000))
    assert len(recorded.lines) == MAX_LOGGED_REJECTIONS
    recorded.now += 1.0
    recorded.reject()
    assert recorded.lines[MAX_LOGGED_REJECTIONS] == "(rejected) 1,000 more"
    assert len(recorded.lines) == MAX_LOGGED_REJECTIONS + 2


def test_a_flood_that_ends_is_counted_too(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "REJECTION_WINDOW_SECONDS", 0.01)

    async def flood() -> None:
        recorded.reject(MAX_LOGGED_REJECTIONS + 3)
        async with asyncio.timeout(20):
            await recorded.summary.wait()

    asyncio.run(flood())
    assert recorded.lines[MAX_LOGGED_REJECTIONS:] == ["(rejected) 3 more"]
