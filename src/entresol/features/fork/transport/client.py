"""A JSON-RPC client, on a thread of its own, of a remote chain that may be slow, limited, hostile or gone."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec
import uvloop

from entresol.errors import RemoteFailed, RemoteTimeout
from entresol.errors.base import without_frames
from entresol.features.fork.errors import RemoteMalformed, RemoteRejected, RemoteUnreachable
from entresol.features.fork.remote_use import RATE_LIMIT, WITHOUT_RESPONSE, RemoteUse, Waits
from entresol.features.fork.transport.endpoints import Endpoints, RemoteEndpoint, cost_of, host_of
from entresol.features.fork.transport.envelopes import (
    UNEXPECTED,
    Call,
    RateLimited,
    TooLarge,
    decode,
    encode,
    name_of,
)
from entresol.l1.json_rpc_client import NO_RESPONSE, BodyTooLong, NoResponse

TOO_MANY_REQUESTS: Final = 429
MAX_DELAY: Final = 10.0
"""The longest wait between two attempts that the remote did not ask for."""
_FAILURE_SHARE: Final = 0.1
"""How much of the backoff a failure waits for: a dropped connection is not a limit, and a dead remote is said soon."""

T = TypeVar("T")

IN_FLIGHT: Final = 16
MAX_REQUESTS: Final = 1_024
"""How many single requests wait at the same time: clients choose them, and a remote that is slow would gather them."""
REGAIN_SECONDS: Final = 30.0
"""How long batches are no longer than the remote took; then they are twice as long, up to what they were."""
MAX_BODY: Final = 32 << 20
"""How long a response may be; a batch with a longer one is halved."""

Outcome: TypeAlias = msgspec.Raw | RemoteFailed
Failed: TypeAlias = NoResponse | RateLimited | TooLarge | RemoteFailed


class Patience(msgspec.Struct, frozen=True):
    """How long requests are tried, and by which clock."""

    retries: int
    timeout: float
    backoff: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Attempts:
    """The attempts of one request. Fails: with the last failure, once there is no attempt or no time left."""

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


class ClientThread:
    """An event loop on a thread of its own.

    Any thread may give it work. Fails: with `RuntimeError` once it is being stopped; work that runs then is cancelled.
    """

    def __init__(self, name: str) -> None:
        self._loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        # Work that was given while it stops would never end.
        self._taking = threading.Lock()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_stopped(self) -> bool:
        """Whether it is being stopped: what begins there now may never end."""
        return self._is_stopped

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there, and block until it has ended."""
        future = self.begin(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine there."""
        with self._taking:
            if not self._is_stopped:
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        raise RuntimeError("the client of the remote is stopped")

    def soon(self, call: Callable[[], None]) -> bool:
        """Call a function there, soon; return whether it will be: not once it is stopped."""
        with self._taking:
            if not self._is_stopped:
                self._loop.call_soon_threadsafe(call)
            return not self._is_stopped

    def stop(self, last: Coroutine[Any, Any, None]) -> None:
        """Cancel what runs there, run one more coroutine, and end the thread."""
        with self._taking:
            was_stopped, self._is_stopped = self._is_stopped, True
        if was_stopped:
            last.close()
            return
        asyncio.run_coroutine_threadsafe(self._ended(last), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _ended(self, last: Coroutine[Any, Any, None]) -> None:
        # Some of it may begin something else while it ends.
        while running := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in running:
                task.cancel()
            await asyncio.wait(running)
        await last

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()


class Guard(NamedTuple):
    """A call that each batch carries, and the check of its result, which raises to have the batch thrown away."""

    call: Call
    check: Callable[[msgspec.Raw], None]


class ForkClient:
    """Asks a remote chain.

    Assumes: one event loop. Fails: with `RemoteFailed`; none of them has a secret of URL or headers.
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
        """Return the result of a method; with a guard, one that came with what the guard accepts."""
        if self._requests >= MAX_REQUESTS:
            problem = f"{MAX_REQUESTS} requests wait for it already"
            raise RemoteUnreachable(self.host, method, problem)
        self._requests += 1
        self._regain()
        try:
            return result_of(await self._single(Call(method, params), guard, max_bytes))
        except TooLarge as error:
            raise error.rejection from error
        finally:
            self._requests -= 1

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

    async def _single(self, call: Call, guard: Guard | None, max_bytes: int) -> Outcome:
        if guard is None or self.batch_size > 1:
            try:
                return (await self._guarded([call], guard, max_bytes))[0]
            except TooLarge:
                if guard is None:
                    raise
        return (await self._apart([call], guard, max_bytes))[0]

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
        guard.check(result_of(checked))
        return outcomes

    async def _apart(
        self, calls: Sequence[Call], guard: Guard | None, max_bytes: int
    ) -> list[Outcome]:
        """Ask without a batch; the guard comes before and after, since a block may be replaced, and come back."""
        try:
            if guard is not None:
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
        guard.check(result_of(checked))

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
                again = [
                    n
                    for n, outcome in zip(left, got, strict=True)
                    if isinstance(outcome, RateLimited)
                ]
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
                limited = next(
                    (outcome for outcome in received if isinstance(outcome, RateLimited)), None
                )
            elif isinstance(received, TooLarge | RemoteFailed):
                raise received
            if isinstance(received, NoResponse):
                self._use.retried(WITHOUT_RESPONSE)
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


def result_of(outcome: Outcome) -> msgspec.Raw:
    """Return the result of a call, or raise why there is none."""
    if isinstance(outcome, RemoteFailed):
        raise outcome
    return outcome


def _later(seconds: float, call: Callable[[], None]) -> Callable[[], None]:
    return asyncio.get_running_loop().call_later(seconds, call).cancel
