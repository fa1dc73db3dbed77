"""What requests cost a provider, and how many of these compute units a second may be spent."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

DEFAULT_COST: Final = 20
"""What most reads cost at the providers that count so."""

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

    Remembers: what is left of ten seconds. A request that costs more than that passes, and those after it wait until it
    is paid for. Assumes: one event loop.
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
