from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest

from entresol.terminal import transactions
from entresol.terminal.transactions import OpenSends

SEND = b'{"method":"eth_sendRawTransaction"}'
READ = b'{"method":"eth_call"}'


def lines_of(work: Callable[[OpenSends, list[str]], Awaitable[None]]) -> list[str]:
    """Return the lines that `work` has written by the time the event loop has nothing more to do."""
    lines: list[str] = []

    async def run() -> None:
        await work(OpenSends(), lines)
        for _ in range(3):
            await asyncio.sleep(0)

    asyncio.run(run())
    return lines


def test_a_block_that_nobody_sent_is_written_in_the_next_turn() -> None:
    async def work(sends: OpenSends, lines: list[str]) -> None:
        sends.after(lambda: lines.append("block"))
        assert lines == []

    assert lines_of(work) == ["block"]


def test_a_block_follows_the_requests_that_were_open_when_it_was_sealed() -> None:
    async def work(sends: OpenSends, lines: list[str]) -> None:
        with sends.holding(SEND):
            with sends.holding(SEND):
                sends.after(lambda: lines.append("block"))
                await asyncio.sleep(0)
                lines.append("first")
            await asyncio.sleep(0)
            lines.append("second")

    assert lines_of(work) == ["first", "second", "block"]


def test_a_block_does_not_wait_for_requests_that_came_after_it() -> None:
    async def work(sends: OpenSends, lines: list[str]) -> None:
        first, second = sends.holding(SEND), sends.holding(SEND)
        with first:
            sends.after(lambda: lines.append("block"))
            second.__enter__()
        await asyncio.sleep(0)
        lines.append("second")
        second.__exit__(None, None, None)

    assert lines_of(work) == ["block", "second"]


def test_blocks_are_written_in_order() -> None:
    async def work(sends: OpenSends, lines: list[str]) -> None:
        with sends.holding(SEND):
            sends.after(lambda: lines.append("1"))
        sends.after(lambda: lines.append("2"))

    assert lines_of(work) == ["1", "2"]


def test_a_request_that_reads_holds_nothing_back() -> None:
    async def work(sends: OpenSends, lines: list[str]) -> None:
        with sends.holding(READ):
            sends.after(lambda: lines.append("block"))
            await asyncio.sleep(0)
            lines.append("read")

    assert lines_of(work) == ["block", "read"]


def test_a_request_that_fails_holds_nothing_back_any_more() -> None:
    async def work(sends: OpenSends, lines: list[str]) -> None:
        with contextlib.suppress(ValueError), sends.holding(SEND):
            sends.after(lambda: lines.append("block"))
            raise ValueError

    assert lines_of(work) == ["block"]


def test_a_block_is_not_held_back_for_a_sender_that_waits_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transactions, "MAX_HELD_SECONDS", 0.0)

    async def work(sends: OpenSends, lines: list[str]) -> None:
        written = asyncio.Event()
        with sends.holding(SEND):
            sends.after(written.set)
            await written.wait()
            lines.append("block")

    assert lines_of(work) == ["block"]
