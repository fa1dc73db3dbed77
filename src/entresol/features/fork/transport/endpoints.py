"""The URLs of a remote, asked in turn, each with its limits: one that fails rests, and requests cost compute units."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

from entresol.features.fork.errors import RemoteUnreachable
from entresol.l1.json_rpc_client import HttpPost
from entresol.l1.urls import REDACTED, Endpoint, is_http_url

MAX_REST_SECONDS: Final = 30.0
"""How long an endpoint rests at most that keeps failing."""
MAX_SECRET_FREE: Final = 300
_MIN_SECRET: Final = 6
"""Shorter than any key."""

DEFAULT_COST: Final = 20
"""The cost of most reads at the providers that count so."""

BURST_SECONDS: Final = 10
"""Providers count over so long, so that as much may be spent at once: a start costs two thousand units."""

_COSTS: Final = {
    "eth_chainId": 0,
    "net_version": 0,
    "eth_blockNumber": 10,
    "eth_call": 26,
    "eth_estimateGas": 20,
    "eth_feeHistory": 10,
    "eth_getLogs": 60,
    "eth_getBlockReceipts": 20,
    "eth_simulateV1": 40,
}
_COSTLY: Final = ("debug_", "trace_", "arbtrace_", "ots_")
_TRACE_COST: Final = 40


class RemoteEndpoint:
    """One URL of a remote.

    Its representation, and everything that it says, has scheme, host and port only; of one that a client named, errors
    quote nothing.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Sequence[tuple[str, str]] = (),
        timeout: float,
        units_per_second: int | None = None,
        is_quoted: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not is_http_url(url):
            raise RemoteUnreachable(host_of(url), "anything", "its URL is not http:// or https://")
        if urlsplit(url).username and any(name.lower() == "authorization" for name, _ in headers):
            problem = (
                "its URL has a user, and --fork-header an Authorization: leave out one of both"
            )
            raise RemoteUnreachable(host_of(url), "anything", problem)
        self._url = Endpoint(url)
        self._secrets = _secrets(headers)
        self.is_quoted = is_quoted
        """Whether errors may repeat what it says: not if a client named it, who may not reach it."""
        self._clock = clock
        self.host = host_of(url)
        self.http = HttpPost(url, timeout=timeout, headers=headers, follows_redirects=False)
        self.limit = RateLimit(None if is_local(url) else units_per_second)
        self.failures = 0
        self.rests_until = 0.0
        """It is not asked until then while another one can be."""
        self.not_before = 0.0
        """It is not asked until then at all: it said so."""
        self.limited_by = ""

    def __repr__(self) -> str:
        return f"<RemoteEndpoint {self.host}>"

    def redact(self, text: str) -> str:
        """Return a text of the remote without the secrets of URL and headers, shortened."""
        text = self._url.redact(text)
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return text if len(text) <= MAX_SECRET_FREE else text[:MAX_SECRET_FREE] + REDACTED

    def succeeded(self) -> None:
        """Forget its failures."""
        self.failures = 0
        self.rests_until = 0.0

    def failed(self, backoff: float) -> None:
        """Rest: longer with each failure in a row."""
        self.failures += 1
        rest = min(backoff * 2 ** min(self.failures - 1, 10), MAX_REST_SECONDS)
        self.rests_until = self._clock() + rest

    def rate_limited(self, seconds: float, problem: str) -> None:
        """Ask nothing for so long, because of what it said."""
        self.limited_by = problem
        self.not_before = max(self.not_before, self._clock() + seconds)


class Endpoints:
    """All URLs of a remote, in turn."""

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        urls: Sequence[str],
        *,
        headers: Sequence[tuple[str, str]] = (),
        timeout: float,
        units_per_second: int | None = None,
        trusted: frozenset[str] | None = None,
        is_quoted: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._headers = tuple(headers)
        self._timeout = timeout
        self._units = units_per_second
        self._clock = clock
        self._trusted = frozenset(map(host_of, urls)) if trusted is None else trusted
        self._is_quoted = is_quoted
        self._turn = 0
        self._all = [self._endpoint(url) for url in urls]

    @property
    def first(self) -> RemoteEndpoint | None:
        """The one that names the remote in errors and banner; None without any."""
        return self._all[0] if self._all else None

    def __len__(self) -> int:
        return len(self._all)

    def next(self) -> tuple[RemoteEndpoint, float]:
        """Return whose turn it is, and how many seconds to wait before it may be asked."""
        now = self._clock()
        turns = [self._all[(self._turn + n) % len(self._all)] for n in range(len(self._all))]
        chosen = min(turns, key=lambda it: (max(it.not_before - now, 0.0), it.rests_until > now))
        self._turn = (self._all.index(chosen) + 1) % len(self._all)
        return chosen, max(chosen.not_before - now, 0.0)

    def with_url(self, url: str) -> Endpoints:
        """Return endpoints with only this URL, which a client has named, and which gets the headers if its host was given at the start."""
        return Endpoints(
            [url],
            headers=self._headers,
            timeout=self._timeout,
            units_per_second=self._units,
            trusted=self._trusted,
            is_quoted=False,
            clock=self._clock,
        )

    async def close(self) -> None:
        """Close all connections."""
        for endpoint in self._all:
            await endpoint.http.close()

    def _endpoint(self, url: str) -> RemoteEndpoint:
        return RemoteEndpoint(
            url,
            headers=self._headers if host_of(url) in self._trusted else (),
            timeout=self._timeout,
            units_per_second=self._units,
            is_quoted=self._is_quoted,
            clock=self._clock,
        )


def _secrets(headers: Sequence[tuple[str, str]]) -> list[str]:
    """Return the values of headers, and their parts that may be secret (`Bearer …`), the longest first."""
    parts = {part for _, value in headers for part in (value, *value.split())}
    return sorted((part for part in parts if len(part) >= _MIN_SECRET), key=len, reverse=True)


def host_of(url: str) -> str:
    """Return scheme, host and port of a URL: all that is shown of it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return REDACTED
    named = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{named}" + ("" if port is None else f":{port}")


def cost_of(method: str) -> int:
    """Return the compute units of a method."""
    return _COSTS.get(method, _TRACE_COST if method.startswith(_COSTLY) else DEFAULT_COST)


def is_local(url: str) -> bool:
    """Return whether a URL names this machine or a private network, whose nodes have no such limits."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_private


class RateLimit:
    """Lets requests pass at a rate of compute units a second.

    A request that costs more than that passes, and those after it wait until it is paid for. Assumes: one event loop.
    """

    def __init__(
        self,
        units_per_second: int | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._rate = units_per_second
        self._clock = clock
        self._sleep = sleep
        self._most = float(BURST_SECONDS * (units_per_second or 0))
        self._left = self._most
        self._counted_at = clock()

    async def spend(self, units: int) -> None:
        """Wait until a request may be sent."""
        if self._rate is None or not units:
            return
        while (wait := self._seconds_until_paid()) > 0:
            await self._sleep(wait)
        self._left -= units

    def _seconds_until_paid(self) -> float:
        assert self._rate is not None
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._counted_at) * self._rate)
        self._counted_at = now
        return 0.0 if self._left > 0 else (1 - self._left) / self._rate
