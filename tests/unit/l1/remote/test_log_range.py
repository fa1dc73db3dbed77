"""Errors about the range of `eth_getLogs`, and how the range adapts."""

from __future__ import annotations

import pytest

from entresol.errors import LayerOneRejected
from entresol.l1.remote.log_range import MAX_RANGE, SUCCESSES_TO_GROW, LogRange, exceeds_range_limit

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
def test_errors_about_the_range_are_recognised(code: int, message: str) -> None:
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
def test_other_errors_are_not_about_the_range(code: int, message: str) -> None:
    assert not exceeds_range_limit(code, message)


def test_the_range_halves_after_a_rejection_and_doubles_after_some_successes() -> None:
    width = LogRange()
    width.on_rejection(MAX_RANGE, TOO_WIDE)
    width.on_rejection(MAX_RANGE // 2, TOO_WIDE)
    assert width.blocks == MAX_RANGE // 4
    for _ in range(SUCCESSES_TO_GROW - 1):
        width.on_success(width.blocks)
    assert width.blocks == MAX_RANGE // 4
    width.on_success(width.blocks)
    assert width.blocks == MAX_RANGE // 2


def test_successes_with_a_narrower_range_do_not_count() -> None:
    width = LogRange()
    width.on_rejection(100, TOO_WIDE)
    for _ in range(10 * SUCCESSES_TO_GROW):
        width.on_success(49)
    assert width.blocks == 50


def test_the_range_never_exceeds_the_maximum() -> None:
    width = LogRange()
    width.on_rejection(2 * 6_000, TOO_WIDE)
    for _ in range(3 * SUCCESSES_TO_GROW):
        width.on_success(width.blocks)
    assert width.blocks == MAX_RANGE


def test_a_rejection_that_a_narrower_range_cannot_avoid_is_raised() -> None:
    with pytest.raises(LayerOneRejected, match="too large"):
        LogRange().on_rejection(1, TOO_WIDE)
