"""URLs that are asked in turn, and what may be spent on each."""

from __future__ import annotations

import asyncio

import pytest

from entresol.errors import RemoteUnreachable
from entresol.features.fork.transport.endpoints import Endpoints, RateLimit, host_of, is_local

URLS = ("https://a.example/key", "https://b.example/key", "https://c.example/key")


class Clock:
    """A clock that tests and sleeps move."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def endpoints(clock: Clock) -> Endpoints:
    return Endpoints(URLS, timeout=1.0, clock=clock)


def turns(endpoints: Endpoints, count: int) -> str:
    """Return the letters of the hosts whose turn it is."""
    return "".join(endpoints.next()[0].host[len("https://")] for _ in range(count))


def test_urls_are_asked_in_turn(endpoints: Endpoints) -> None:
    assert turns(endpoints, 7) == "abcabca"


def test_one_that_fails_rests_and_comes_back(endpoints: Endpoints, clock: Clock) -> None:
    first, _ = endpoints.next()
    first.failed(backoff=2.0)
    assert turns(endpoints, 4) == "bcbc"
    clock.now += 2.0
    assert "a" in turns(endpoints, 3)


def test_one_that_keeps_failing_rests_longer_up_to_a_limit(
    endpoints: Endpoints, clock: Clock
) -> None:
    first, _ = endpoints.next()
    rests = []
    for _ in range(8):
        first.failed(backoff=1.0)
        rests.append(first.rests_until - clock.now)
    assert rests == [1, 2, 4, 8, 16, 30, 30, 30]
    first.succeeded()
    assert first.rests_until == 0


def test_all_that_rest_are_asked_all_the_same(endpoints: Endpoints) -> None:
    for _ in URLS:
        endpoints.next()[0].failed(backoff=5.0)
    assert endpoints.next()[1] == 0


def test_one_that_says_when_is_not_asked_before(endpoints: Endpoints, clock: Clock) -> None:
    limited = [endpoints.next()[0] for _ in URLS]
    for seconds, endpoint in zip((9.0, 3.0, 6.0), limited, strict=True):
        endpoint.rate_limited(seconds, "slow down")
    chosen, wait = endpoints.next()
    assert (chosen.host, wait) == ("https://b.example", 3.0)
    clock.now += 3.0
    assert endpoints.next()[1] == 0


def test_only_scheme_host_and_port_are_shown() -> None:
    assert host_of("https://user:secret@host.example:8545/v2/secret?key=secret#secret") == (
        "https://host.example:8545"
    )
    assert host_of("http://[::1]:99/secret") == "http://[::1]:99"
    assert "secret" not in host_of("http://host:secret/")


def test_two_ways_to_authorize_are_rejected_at_once() -> None:
    headers = [("authorization", "Bearer secret")]
    with pytest.raises(RemoteUnreachable, match="leave out one of both") as rejection:
        Endpoints(["https://user:password@a.example"], headers=headers, timeout=1.0)
    assert not any(it in str(rejection.value) for it in ("user:", "password@", "secret"))
    Endpoints(["https://user:password@a.example"], headers=[("x-key", "secret")], timeout=1.0)
    Endpoints(["https://a.example"], headers=headers, timeout=1.0)


def test_nothing_of_a_url_that_a_client_has_named_is_quoted(endpoints: Endpoints) -> None:
    named = endpoints.with_url(URLS[0]).first
    assert named is not None
    assert not named.is_quoted
    assert endpoints.next()[0].is_quoted


@pytest.mark.parametrize("url", ["ftp://a.example", "ws://a.example", "a.example", "http://"])
def test_other_schemes_are_rejected(url: str) -> None:
    with pytest.raises(RemoteUnreachable, match="http"):
        Endpoints([url], timeout=1.0)


def spent(units_per_second: int | None, *requests: int) -> float:
    clock = Clock()
    limit = RateLimit(units_per_second, clock=clock, sleep=clock.sleep)

    async def spend() -> None:
        for units in requests:
            await limit.spend(units)

    before = clock.now
    asyncio.run(spend())
    return clock.now - before


def test_what_fits_ten_seconds_passes_at_once() -> None:
    assert spent(330, *[20] * 165) == 0
    assert spent(330, *[20] * 166, 20) > 0


def test_a_large_request_passes_and_those_after_it_wait_until_it_is_paid_for() -> None:
    assert spent(100, 3_000) == 0
    assert spent(100, 3_000, 1) == pytest.approx(20.0, abs=0.1)


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
