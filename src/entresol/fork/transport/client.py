"""A JSON-RPC client of a remote chain that may be slow, limited, hostile or gone."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeAlias

import msgspec

from entresol.errors import (
    RemoteFailed,
    RemoteMalformed,
    RemoteRejected,
    RemoteTimeout,
    RemoteUnreachable,
)
from entresol.errors.base import without_frames
from entresol.fork.remote_use import NO_RESPONSE, RATE_LIMIT, RemoteUse
from entresol.fork.transport.attempts import Attempts, Patience
from entresol.fork.transport.endpoints import Endpoints, RemoteEndpoint, host_of
from entresol.fork.transport.envelopes import (
    UNEXPECTED,
    Call,
    RateLimited,
    TooLarge,
    decode,
    encode,
    name_of,
)
from entresol.fork.transport.rate_limit import cost_of
from entresol.fork.transport.waiting import Waits
from entresol.l1.remote.http_post import BodyTooLong, NoResponse

IN_FLIGHT: Final = 16
"""How many HTTP requests are under way at the same time."""
MAX_REQUESTS: Final = 1_024
"""How many single requests wait at the same time: clients choose them, and a remote that is slow would gather them."""
REGAIN_SECONDS: Final = 30.0
"""How long batches are no longer than the remote took; then they are twice as long, up to what they were."""
MAX_BODY: Final = 32 << 20
"""How long a response may be; a batch with a longer one is halved."""

Outcome: TypeAlias = msgspec.Raw | RemoteFailed
Failed: TypeAlias = NoResponse | RateLimited | TooLarge | RemoteFailed


class Guard(NamedTuple):
    """A call that each batch carries, and the check of its result, which raises to have the batch thrown away."""

    call: Call
    check: Callable[[msgspec.Raw], None]
    is_bound: bool = False
    """Whether what is guarded shows itself which block it is of, so that without batches one check is enough."""


class GuardedResult(NamedTuple):
    """A result, and whether it came in one batch with its guard."""

    result: msgspec.Raw
    is_together: bool


class ForkClient:
    """Asks a remote chain.

    Remembers: connections, how large a batch may be, for a while, and what waits. Persists: nothing. Assumes: one event loop.
    Fails: with `RemoteFailed`; none of them has a secret of URL or headers.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        patience: Patience,
        *,
        batch_size: int,
        host: str,
        use: RemoteUse | None = None,
    ) -> None:
        self.endpoints = endpoints
        self._use = use or RemoteUse()
        self.batch_size = batch_size
        self._given_batch_size = batch_size
        self._limited_at = -math.inf
        self.waits = Waits(host)
        self._patience = patience
        self._in_flight = asyncio.Semaphore(IN_FLIGHT)
        self._next_id = 1
        self._requests = 0
        self._responded = -math.inf

    @property
    def host(self) -> str:
        """Scheme, host and port of the first URL."""
        return self.waits.host

    async def request(
        self,
        method: str,
        *params: object,
        guard: Guard | None = None,
        max_bytes: int = MAX_BODY,
    ) -> msgspec.Raw:
        """Return the result of a method; with a guard, one that came together with what the guard accepts."""
        return (await self.guarded(Call(method, params), guard, max_bytes)).result

    async def guarded(
        self, call: Call, guard: Guard | None, max_bytes: int = MAX_BODY
    ) -> GuardedResult:
        """Return the result of a call, and whether it came together with what the guard accepts."""
        if self._requests >= MAX_REQUESTS:
            problem = f"{MAX_REQUESTS} requests wait for it already"
            raise RemoteUnreachable(self.host, call.method, problem)
        self._requests += 1
        self._regain()
        try:
            outcome, is_together = await self._single(call, guard, max_bytes)
        except TooLarge as error:
            raise error.rejection from error
        finally:
            self._requests -= 1
        if isinstance(outcome, RemoteFailed):
            raise outcome
        return GuardedResult(outcome, is_together)

    async def ask(
        self, calls: Sequence[Call], *, guard: Guard | None = None, max_bytes: int = MAX_BODY
    ) -> list[Outcome]:
        """Return the outcomes of calls, in order, in as few batches as the remote takes."""
        if not calls:
            return []
        self._regain()
        size = max(self.batch_size - (guard is not None), 1)
        pieces = [calls[n : n + size] for n in range(0, len(calls), size)]
        done = await asyncio.gather(*(self._piece(piece, guard, max_bytes) for piece in pieces))
        return [outcome for outcomes in done for outcome in outcomes]

    def at(self, url: str) -> ForkClient:
        """Return a client that asks another URL."""
        return ForkClient(
            self.endpoints.with_url(url),
            self._patience,
            batch_size=self._given_batch_size,
            host=host_of(url),
        )

    async def use(self, other: ForkClient) -> None:
        """Ask what another client asks from now on."""
        old, self.endpoints = self.endpoints, other.endpoints
        self.waits.host, self.batch_size = other.host, other.batch_size
        await old.close()

    async def close(self) -> None:
        """Close all connections."""
        await self.endpoints.close()

    def _regain(self) -> None:
        """Let batches be longer again, after a while: what the remote did not take may have been a moment's trouble."""
        now = self._patience.clock()
        if self.batch_size < self._given_batch_size and now >= self._limited_at + REGAIN_SECONDS:
            self._limited_at = now
            self.batch_size = min(2 * self.batch_size, self._given_batch_size)

    async def _single(
        self, call: Call, guard: Guard | None, max_bytes: int
    ) -> tuple[Outcome, bool]:
        if guard is None or self.batch_size > 1:
            try:
                (outcome,) = await self._guarded([call], guard, max_bytes)
            except TooLarge:
                if guard is None:
                    raise
            else:
                return outcome, True
        (outcome,) = await self._apart([call], guard, max_bytes)
        return outcome, False

    async def _piece(
        self, calls: Sequence[Call], guard: Guard | None, max_bytes: int
    ) -> list[Outcome]:
        if guard is not None and self.batch_size == 1:
            return await self._apart(calls, guard, max_bytes)
        try:
            return await self._guarded(calls, guard, max_bytes)
        except TooLarge as error:
            if len(calls) == 1 and guard is None:
                return [error.rejection]
            if len(calls) == 1:
                return await self._apart(calls, guard, max_bytes)
        except RemoteFailed as error:
            return [without_frames(error)] * len(calls)
        half = len(calls) // 2
        # What one remote has said holds for the next batches, too.
        self.batch_size = max(min(self.batch_size, half), 1)
        self._limited_at = self._patience.clock()
        halves = (calls[:half], calls[half:])
        left, right = await asyncio.gather(
            *(self._piece(half, guard, max_bytes) for half in halves),
        )
        return left + right

    async def _guarded(
        self, calls: Sequence[Call], guard: Guard | None, max_bytes: int
    ) -> list[Outcome]:
        if guard is None:
            return await self._retried(calls, max_bytes)
        *outcomes, checked = await self._retried([*calls, guard.call], max_bytes)
        _check(guard, checked)
        return outcomes

    async def _apart(
        self, calls: Sequence[Call], guard: Guard | None, max_bytes: int
    ) -> list[Outcome]:
        """Ask without a batch; the guard comes before and after, since a block may be replaced, and come back."""
        try:
            if guard is not None and not guard.is_bound:
                await self._check_alone(guard, max_bytes)
            outcomes = await self._retried(calls, max_bytes)
            if guard is not None:
                await self._check_alone(guard, max_bytes)
        except TooLarge as error:
            return [error.rejection] * len(calls)
        except RemoteFailed as error:
            return [without_frames(error)] * len(calls)
        return outcomes

    async def _check_alone(self, guard: Guard, max_bytes: int) -> None:
        (checked,) = await self._retried([guard.call], max_bytes)
        _check(guard, checked)

    async def _retried(self, calls: Sequence[Call], max_bytes: int) -> list[Outcome]:
        """Return the outcomes of one batch; what the remote's rate limit rejected is sent again."""
        name = name_of(calls)
        units = sum(cost_of(call.method) for call in calls)
        attempts = Attempts(self.endpoints, self._patience, name, units)
        outcomes: list[Outcome | None] = [None] * len(calls)
        left = list(range(len(calls)))
        with self.waits.waiting(name, _later), self._timed():
            while left:
                got = await self._attempt(attempts, [calls[n] for n in left], max_bytes)
                if got is None:
                    continue
                again = [n for n, it in zip(left, got, strict=True) if isinstance(it, RateLimited)]
                for n, outcome in zip(left, got, strict=True):
                    outcomes[n] = None if isinstance(outcome, RateLimited) else outcome
                left = again
        return [outcome for outcome in outcomes if outcome is not None]

    async def _attempt(
        self, attempts: Attempts, calls: Sequence[Call], max_bytes: int
    ) -> list[msgspec.Raw | RemoteRejected | RateLimited] | None:
        """Return the outcomes of one attempt, or None if there was no response."""
        await self._turn(name_of(calls))
        try:
            endpoint, seconds = await attempts.next()
            self._use.sent()
            received = await self._received(endpoint, calls, max_bytes, seconds)
            limited = received if isinstance(received, RateLimited) else None
            if isinstance(received, list):
                self._responded = asyncio.get_running_loop().time()
                endpoint.succeeded()
                limited = next((it for it in received if isinstance(it, RateLimited)), None)
            elif isinstance(received, TooLarge | RemoteFailed):
                raise received
            if isinstance(received, NoResponse):
                self._use.retried(NO_RESPONSE)
                problem = str(received) if endpoint.is_quoted else received.kind
                attempts.no_response(endpoint, problem)
                return None
            self._use.responded()
            if limited is not None:
                self._use.retried(RATE_LIMIT)
                attempts.rate_limited(endpoint, limited.seconds, str(limited))
            return received if isinstance(received, list) else None
        finally:
            self._in_flight.release()

    async def _received(
        self, endpoint: RemoteEndpoint, calls: Sequence[Call], max_bytes: int, seconds: float
    ) -> list[msgspec.Raw | RemoteRejected | RateLimited] | Failed:
        """Return the outcomes of one request, or why there are none.

        Without its frames: they have the whole body, and whoever keeps the error would keep that, too. What is raised
        in a handler would have the first error in its context, with secrets of the URL.
        """
        first_id = self._next_id
        self._next_id += len(calls)
        try:
            response = await endpoint.http.post(encode(calls, first_id), max_bytes, seconds)
            return decode(endpoint, calls, first_id, response, time.time())
        except BodyTooLong as error:
            return _too_long(endpoint.host, calls, str(error))
        except (NoResponse, RateLimited, TooLarge, RemoteFailed) as error:
            return without_frames(error)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            self._use.waited(time.monotonic() - begun)

    async def _turn(self, name: str) -> None:
        """Wait until a request may be under way; raise if the remote responds to none in the meantime."""
        loop, timeout = asyncio.get_running_loop(), self._patience.timeout
        begun = loop.time()
        while True:
            try:
                async with asyncio.timeout_at(max(begun, self._responded) + timeout):
                    await self._in_flight.acquire()
                    return
            except TimeoutError:
                if loop.time() < max(begun, self._responded) + timeout:
                    continue
            raise RemoteTimeout(
                f"the remote {self.host} did not respond to {name} in {timeout:g} seconds: {IN_FLIGHT} requests wait "
                "before it"
            )


def _too_long(host: str, calls: Sequence[Call], problem: str) -> TooLarge | RemoteMalformed:
    """Return the error of a response that is too long: a batch may be halved."""
    if len(calls) > 1:
        return TooLarge(RemoteRejected(host, name_of(calls), UNEXPECTED, problem))
    return RemoteMalformed(host, name_of(calls), problem)


def _check(guard: Guard, outcome: Outcome) -> None:
    if isinstance(outcome, RemoteFailed):
        raise outcome
    guard.check(outcome)


def _later(seconds: float, call: Callable[[], None]) -> Callable[[], None]:
    return asyncio.get_running_loop().call_later(seconds, call).cancel
