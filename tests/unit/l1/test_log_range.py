"""Telling a search that asked for too much from one that failed otherwise, and finding the right width."""

from __future__ import annotations

import pytest

from entresol.errors import LayerOneRejected
from entresol.l1.log_range import MAX_RANGE, SUCCESSES_TO_GROW, LogRange, exceeds_range_limit

TOO_WIDE = LayerOneRejected("eth_getLogs", -32602, "block range too large")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32005, "query returned more than 10000 results. Try with this block range [0x1, 0x2]."),
        (-32602, "Log response size exceeded. You can make eth_getLogs requests with up to a 2K range"),
        (-32600, "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range"),
        (-32614, "eth_getLogs is limited to a 10,000 range"),
        (-32000, "requested too many blocks from 0 to 9999, maximum is set to 2048"),
        (-32047, "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800"),
        (-32602, "exceed maximum block range: 5000"),
        (-32602, "query exceeds max results 20000, retry with the range 1-5"),
        (-32005, "Requested range exceeds maximum range limit"),
        (-32000, "backend response too large"),
        (-32000, "query timeout exceeded"),
        (-32002, "request timed out"),
        (35, "ranges over 10000 blocks are not supported on freetier"),
    ],
)  # fmt: skip
def test_what_providers_say_of_a_range_is_understood(code: int, message: str) -> None:
    assert exceeds_range_limit(code, message)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32005, "rate limit exceeded"),
        (-32005, "daily request count exceeded, request rate limited"),
        (429, "Your app has exceeded its compute units per second capacity."),
        (-32601, "the method eth_getLogs does not exist/is not available"),
        (-32000, "header not found"),
        (-32000, "invalid block range params"),
        (0, "Must be authenticated!"),
    ],
)
def test_what_they_say_of_other_things_is_not_about_the_range(code: int, message: str) -> None:
    assert not exceeds_range_limit(code, message)


def test_it_halves_what_was_rejected_and_doubles_it_after_some_answers() -> None:
    width = LogRange()
    width.on_rejection(MAX_RANGE, TOO_WIDE)
    width.on_rejection(MAX_RANGE // 2, TOO_WIDE)
    assert width.blocks == MAX_RANGE // 4
    for _ in range(SUCCESSES_TO_GROW - 1):
        width.on_success(width.blocks)
    assert width.blocks == MAX_RANGE // 4
    width.on_success(width.blocks)
    assert width.blocks == MAX_RANGE // 2


def test_narrower_answers_say_nothing_about_a_wider_range() -> None:
    width = LogRange()
    width.on_rejection(100, TOO_WIDE)
    for _ in range(10 * SUCCESSES_TO_GROW):
        width.on_success(49)
    assert width.blocks == 50


def test_it_never_grows_beyond_the_widest() -> None:
    width = LogRange()
    width.on_rejection(2 * 6_000, TOO_WIDE)
    for _ in range(3 * SUCCESSES_TO_GROW):
        width.on_success(width.blocks)
    assert width.blocks == MAX_RANGE


def test_what_cannot_be_halved_is_raised() -> None:
    with pytest.raises(LayerOneRejected, match="too large"):
        LogRange().on_rejection(1, TOO_WIDE)
