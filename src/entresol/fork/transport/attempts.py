"""The attempts of one request: whom to ask next, how long to wait before, and when to give up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from entresol.errors import RemoteFailed, RemoteRejected, RemoteTimeout, RemoteUnreachable
from entresol.fork.transport.endpoints import Endpoints, RemoteEndpoint
from entresol.l1.remote.http_post import NO_RESPONSE

TOO_MANY_REQUESTS: Final = 429
MAX_DELAY: Final = 10.0
"""The longest wait between two attempts that the remote did not ask for."""
_FAILURE_SHARE: Final = 0.1
"""How much of the backoff a failure waits for: a dropped connection is not a limit, and a dead remote is said soon."""


class Patience(msgspec.Struct, frozen=True):
    """How long requests are tried, and by which clock."""

    retries: int
    timeout: float
    backoff: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Attempts:
    """The attempts of one request.

    Remembers: how many failed, and the time that is left, which begins with the first attempt: what waits for our own
    limit of compute units does not wait for the remote. Fails: with the last failure, once there is no attempt or no
    time left.
    """

    def __init__(self, endpoints: Endpoints, patience: Patience, method: str, units: int) -> None:
        self._endpoints = endpoints
        self._patience = patience
        self._method = method
        self._units = units
        self._deadline: float | None = None
        self._delay = 0.0
        self._failed = 0
        self._limited = 0
        self._failure: RemoteFailed | None = None

    async def next(self) -> tuple[RemoteEndpoint, float]:
        """Wait for the next attempt; return whom to ask, and how many seconds the attempt has."""
        endpoint, wait = self._endpoints.next()
        delay = max(wait, self._delay if endpoint.failures else 0.0)
        self._delay = 0.0
        if wait:
            self._failure = self._limited_by(endpoint)
        if delay:
            self._check_time(endpoint, delay)
            await self._patience.sleep(delay)
        await endpoint.limit.spend(self._units)
        if self._deadline is None:
            self._deadline = self._patience.clock() + self._patience.timeout
        left = self._check_time(endpoint, 0.0)
        share = len(self._endpoints)
        return endpoint, left if share == 1 else min(left, self._patience.timeout / share)

    def no_response(self, endpoint: RemoteEndpoint, problem: str) -> None:
        """Count an attempt without a response; the next one waits longer."""
        patience = self._patience
        endpoint.failed(patience.backoff)
        self._failed += 1
        self._delay = min(
            _FAILURE_SHARE * patience.backoff * 2 ** min(self._failed - 1, 20), MAX_DELAY
        )
        self._failure = RemoteUnreachable(endpoint.host, self._method, endpoint.redact(problem))
        if self._failed > patience.retries:
            raise self._failure

    def rate_limited(self, endpoint: RemoteEndpoint, seconds: float | None, problem: str) -> None:
        """Leave an endpoint alone for as long as it says, up to the timeout, or for the backoff, which doubles."""
        backoff = min(self._patience.backoff * 2 ** min(self._limited, 20), MAX_DELAY)
        self._limited += 1
        rest = min(backoff if seconds is None else seconds, self._patience.timeout)
        endpoint.rate_limited(rest, endpoint.redact(problem))
        self._failure = self._limited_by(endpoint)
        if self._deadline is None:
            self._deadline = self._patience.clock() + self._patience.timeout

    def _check_time(self, endpoint: RemoteEndpoint, delay: float) -> float:
        """Return the seconds that are left after a delay; raise if there are none."""
        now = self._patience.clock()
        deadline = now + self._patience.timeout if self._deadline is None else self._deadline
        left = deadline - now - delay
        if left > 0:
            return left
        if isinstance(self._failure, RemoteRejected):
            raise self._failure
        problem = self._problem()
        because = f": {problem}" if problem and not problem.startswith(NO_RESPONSE) else ""
        raise RemoteTimeout(
            f"the remote {endpoint.host} did not respond to {self._method} in "
            f"{self._patience.timeout:g} seconds{because}"
        )

    def _limited_by(self, endpoint: RemoteEndpoint) -> RemoteRejected:
        return RemoteRejected(endpoint.host, self._method, TOO_MANY_REQUESTS, endpoint.limited_by)

    def _problem(self) -> str:
        failure = self._failure
        return failure.problem if isinstance(failure, RemoteUnreachable) else str(failure or "")
