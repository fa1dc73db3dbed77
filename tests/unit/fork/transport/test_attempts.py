"""How long a request is tried, by a clock that only its own waits move."""

from __future__ import annotations

import asyncio

import pytest

from entresol.errors import RemoteRejected
from entresol.fork.transport.attempts import Attempts, Patience
from entresol.fork.transport.endpoints import Endpoints

TIMEOUT = 30.0
LIMITED = "HTTP status 429, which asks to wait for 3600 seconds"


class Time:
    """A clock, and the requests to a remote of one URL by it."""

    def __init__(self) -> None:
        self.now = 100.0
        self._endpoints = Endpoints(["https://a.example"], timeout=TIMEOUT, clock=self._clock)

    def attempts(self) -> Attempts:
        """Return those of another request."""
        patience = Patience(
            retries=2, timeout=TIMEOUT, backoff=1.0, clock=self._clock, sleep=self._sleep
        )
        return Attempts(self._endpoints, patience, "eth_getBalance", 0)

    def limit(self) -> Attempts:
        """Send a request that the remote rejects for an hour; return its attempts."""
        attempts = self.attempts()
        endpoint, _ = asyncio.run(attempts.next())
        attempts.rate_limited(endpoint, 3_600.0, LIMITED)
        return attempts

    def _clock(self) -> float:
        return self.now

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def time() -> Time:
    """Return a clock that stands."""
    return Time()


def test_a_remote_that_wants_an_hour_of_rest_has_it_for_the_timeout(time: Time) -> None:
    time.limit()
    time.now += 10.0
    _, seconds = asyncio.run(time.attempts().next())
    assert (time.now, seconds) == (100.0 + TIMEOUT, TIMEOUT)


@pytest.mark.parametrize("is_first", [True, False], ids=["rejected", "behind it"])
def test_a_request_whose_time_a_rate_limit_outlasts_fails_at_once_and_says_so(
    time: Time, is_first: bool
) -> None:
    attempts = time.limit()
    with pytest.raises(RemoteRejected, match="429, which asks to wait for 3600 seconds"):
        asyncio.run((attempts if is_first else time.attempts()).next())
    assert time.now == 100.0
