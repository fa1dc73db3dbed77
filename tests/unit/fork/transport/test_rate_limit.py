"""Compute units a second, and who has no such limit."""

from __future__ import annotations

import asyncio

import pytest

from entresol.fork.transport.rate_limit import RateLimit, cost_of, is_local


class Clock:
    """A clock that only sleeps move."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def spent(units_per_second: int | None, *requests: int) -> float:
    """Return the seconds that requests take."""
    clock = Clock()
    limit = RateLimit(units_per_second, clock=clock, sleep=clock.sleep)

    async def spend() -> None:
        for units in requests:
            await limit.spend(units)

    asyncio.run(spend())
    return clock.now


def test_what_fits_ten_seconds_passes_at_once() -> None:
    assert spent(330, *[20] * 165) == 0
    assert spent(330, *[20] * 166, 20) > 0


def test_requests_pass_at_the_rate() -> None:
    assert spent(100, *[20] * 100) == pytest.approx(10.0, abs=0.5)


def test_a_large_request_passes_and_those_after_it_wait_until_it_is_paid_for() -> None:
    assert spent(100, 3_000) == 0
    assert spent(100, 3_000, 1) == pytest.approx(20.0, abs=0.1)


def test_without_a_limit_nothing_waits() -> None:
    assert spent(None, *[10_000] * 100) == 0


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:8545", True),
        ("http://127.0.0.1:8545/key", True),
        ("http://[::1]:8545", True),
        ("http://192.168.1.7", True),
        ("http://10.1.2.3:80", True),
        ("https://node.localhost", True),
        ("https://eth.example.org/v2/key", False),
        ("https://8.8.8.8", False),
        ("https://localhost.example.org", False),
    ],
)
def test_local_addresses_have_no_limit(url: str, expected: bool) -> None:
    assert is_local(url) is expected


def test_traces_cost_more_than_reads_and_the_chain_id_nothing() -> None:
    assert cost_of("debug_traceTransaction") > cost_of("eth_getBalance") > cost_of("eth_chainId")
    assert cost_of("eth_chainId") == 0
