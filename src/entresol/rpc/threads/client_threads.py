"""`ClientThreads`: the threads on which the long calls of all clients run, in turns; and the calls that wait for a remote."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from heapq import heappop, heappush
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary, ref

from entresol._native import CancelFlag
from entresol.chain.chain_use import ChainUse
from entresol.errors import ChainReplaced, ExecutionStopped, StateMissing, TooManyLongCalls
from entresol.state_missing import FORK_THREADS, waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from entresol.server.handler import ClientConnection


T = TypeVar("T")

CHARGED_SECONDS: Final = 1.0
"""The seconds that a client is charged while its work runs; how long it really takes is known at the end."""

_numbers = count(1)


class ClientLine(Generic[T]):
    """The queue of one client, and for how long it was served."""

    def __init__(self) -> None:
        self.queued: deque[T] = deque()
        self.running = 0
        self.seconds = 0.0
        self.entry = 0
        """The number of its entry in the order; 0 if it is not in it."""


class ClientTurns(Generic[T]):
    """The queues of all clients, which take turns.

    Remembers: what is queued; who uses it remembers the lines. Assumes: one thread at a time, and that `end` follows
    each `take`.
    """

    def __init__(self, max_running: int) -> None:
        self._max_running = max_running
        self._order: list[tuple[float, int, ClientLine[T]]] = []
        self._last = 0.0
        self.queued = 0
        """How much all clients have queued."""

    def add(self, line: ClientLine[T], item: T) -> None:
        """Queue what a client wants."""
        if not line.queued and not line.running:
            # Time without work is not saved up.
            line.seconds = max(line.seconds, self._last)
        line.queued.append(item)
        self.queued += 1
        self._place(line)

    def take(self) -> tuple[ClientLine[T], T] | None:
        """Return what is next, and whose it is; None if nobody waits who may have more."""
        while self._order:
            seconds, entry, line = heappop(self._order)
            if entry == line.entry:
                self._last = max(self._last, seconds)
                item = line.queued.popleft()
                self.queued -= 1
                line.running += 1
                self._charge(line, CHARGED_SECONDS)
                return line, item
        return None

    def end(self, line: ClientLine[T], seconds: float) -> None:
        """Note that what was taken has ended, and how long it took."""
        line.running -= 1
        self._charge(line, seconds - CHARGED_SECONDS)

    def drop(self, line: ClientLine[T], is_dropped: Callable[[T], bool]) -> list[T]:
        """Remove what a client has queued and does not need, and return it."""
        dropped = [item for item in line.queued if is_dropped(item)]
        line.queued = deque(item for item in line.queued if not is_dropped(item))
        self.queued -= len(dropped)
        self._place(line)
        return dropped

    def drop_last(self, line: ClientLine[T]) -> T:
        """Remove what a client has queued last, and return it."""
        item = line.queued.pop()
        self.queued -= 1
        self._place(line)
        return item

    def _charge(self, line: ClientLine[T], seconds: float) -> None:
        line.seconds += seconds
        self._place(line)

    def _place(self, line: ClientLine[T]) -> None:
        """Put a client where it belongs in the order, if it may have more; its earlier entry no longer counts."""
        line.entry = 0
        if line.queued and line.running < self._max_running:
            line.entry = next(_numbers)
            heappush(self._order, (line.seconds, line.entry, line))


_thread: Final = threading.local()


# A weak reference: tasks that a request starts keep its context, and may outlive its connection by far.
_CLIENT: Final[ContextVar[ref[ClientConnection] | None]] = ContextVar("client", default=None)

MAX_QUEUED_CALLS: Final = 500
"""As many calls as a batch may have."""

MAX_CLIENTS_QUEUED: Final = 20
"""How many clients may have as much queued: all together no more than that."""


class Job(Generic[T]):
    """Work for a client. The flag cancels the executions that it starts, and what runs cooperatively."""

    __slots__ = ("_work", "ends_with_client", "flag", "future")

    def __init__(self, work: Callable[[], T], *, ends_with_client: bool) -> None:
        self._work = work
        self.future: Future[T] = Future()
        self.flag = CancelFlag()
        self.ends_with_client = ends_with_client
        """Whether nobody needs it once its client is gone."""

    def run(self) -> None:
        """Do the work, unless it was cancelled before."""
        if not self.future.set_running_or_notify_cancel():
            return
        _thread.flag = self.flag
        try:
            with self.flag:
                result = self._work()
        except BaseException as error:  # noqa: BLE001 - raised where the work is awaited
            self.future.set_exception(error)
            # The frames of the error lead back here, and from here to the error.
            del self
        else:
            self.future.set_result(result)
        finally:
            _thread.flag = None

    def reject(self, error: Exception | None = None) -> None:
        """End work that has not begun, with an error or because its client is gone."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(error or ExecutionStopped("the client is gone"))


def check_cancelled() -> None:
    """Raise `ExecutionStopped` if the work on this thread was cancelled."""
    flag: CancelFlag | None = getattr(_thread, "flag", None)
    if flag is not None and flag.is_set:
        raise ExecutionStopped("the client is gone")


def serve(connection: ClientConnection) -> None:
    """Let this turn of the event loop, and the tasks that it starts, be for the client of a connection."""
    _CLIENT.set(ref(connection))


def current_client() -> ClientConnection | None:
    """Return the connection of the client that is served; None if the node works for itself, or the client is gone."""
    client = _CLIENT.get()
    return None if client is None else client()


class Threads(Protocol):
    """Where work is done that takes too long for the event loop."""

    async def run(self, work: Callable[[], T], *, ends_with_client: bool = False) -> T:
        """Return what `work` returns; work that `ends_with_client` may be cancelled with the connection."""


class LoopThreads:
    """The threads of the event loop itself, first come first served."""

    async def run(self, work: Callable[[], T], *, ends_with_client: bool = False) -> T:  # noqa: ARG002
        """Return what `work` returns."""
        return await asyncio.get_running_loop().run_in_executor(None, work)


class ClientThreads:
    """Runs work for clients on a few threads.

    The connection that was served for the shortest time is next. None ever has all threads, so that another finds one
    free. What nobody waits for any more is cancelled. If too much is queued by all together, who has most loses what
    came last.

    Work that needs values of a fork's remote begins again on threads of its own, which wait for them.

    Remembers: what is queued or running, and for how long each connection was served. Assumes: one event loop, and
    that work which raises `StateMissing` has changed nothing. Fails: with `TooManyLongCalls`, if a client or all have
    too many queued, and with `ChainReplaced` for work that did not end before blocks were removed.
    """

    def __init__(
        self,
        threads: int,
        max_queued: int = MAX_QUEUED_CALLS,
        use: ChainUse | None = None,
        *,
        name: str = "call",
    ) -> None:
        self._use = ChainUse() if use is None else use
        self._waiting: ClientThreads | None = None
        self._threads = threads
        self._max_queued = max_queued
        self._max_all = MAX_CLIENTS_QUEUED * max_queued
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._is_closed = False
        self._lock = Lock()
        self.started = 0
        """How many calls have had a thread."""
        self._busy = 0
        self._turns: ClientTurns[Job[Any]] = ClientTurns(max(1, threads - 1))
        self._running: dict[Job[Any], ClientLine[Job[Any]]] = {}
        self._lines: WeakKeyDictionary[ClientConnection, ClientLine[Job[Any]]] = WeakKeyDictionary()
        self._own: ClientLine[Job[Any]] = ClientLine()

    async def run(self, work: Callable[[], T], *, ends_with_client: bool = False) -> T:
        """Return what `work` returns, on a thread and in the turn of the client that is served.

        If the client disconnects, work that `ends_with_client` is cancelled; all work is with the task.
        """
        if self._is_closed:
            # A batch of a client that is gone may still go on, and a request for a fork that is replaced.
            raise ChainReplaced
        client = current_client()
        line = self._own if client is None else self._line_of(client)
        if len(line.queued) >= self._max_queued:
            raise TooManyLongCalls(self._max_queued)
        self._make_room(line)
        use = self._use
        job = Job(use.guarded(work), ends_with_client=ends_with_client)
        use.begin()
        # Also if it is cancelled before it runs.
        job.future.add_done_callback(lambda _: use.end())
        self._add(line, job)
        try:
            return await asyncio.wrap_future(job.future)
        except asyncio.CancelledError:
            self._cancel(line, job)
            raise
        except StateMissing:
            # Begun again below, where its frames are gone.
            pass
        return await self._run_waiting(work, ends_with_client=ends_with_client)

    async def _run_waiting(self, work: Callable[[], T], *, ends_with_client: bool) -> T:
        if self._is_closed:
            raise ChainReplaced
        if self._waiting is None:
            self._waiting = ClientThreads(FORK_THREADS, self._max_queued, self._use, name="fork")
        return await self._waiting.run(waiting(work), ends_with_client=ends_with_client)

    def close(self, *, wait: bool = False) -> None:
        """Cancel everything, also what comes later, and `wait` until it has ended."""
        self._is_closed = True
        with self._lock:
            for job in self._running:
                job.flag.set()
            lines = (self._own, *self._lines.values())
            dropped = [job for line in lines for job in self._turns.drop(line, lambda _: True)]
        for job in dropped:
            job.reject(ChainReplaced())
        self._pool.shutdown(wait=wait, cancel_futures=True)
        if self._waiting is not None:
            self._waiting.close(wait=wait)

    @property
    def queued(self) -> int:
        """How many calls wait for a thread."""
        return self._turns.queued

    def _line_of(self, client: ClientConnection) -> ClientLine[Job[Any]]:
        line = self._lines.get(client)
        if line is None:
            line = self._lines[client] = ClientLine()
            client.on_close(partial(self._on_close, line))
        return line

    def _make_room(self, line: ClientLine[Job[Any]]) -> None:
        """Reject what came last of who has most queued, if all together have too much; raise if that is this client."""
        if self._turns.queued < self._max_all:
            return
        too_many = TooManyLongCalls(self._max_all, " for all clients together")
        with self._lock:
            # Of equal ones the first counts, which is this client's.
            longest = max((line, *self._lines.values()), key=lambda line: len(line.queued))
            if longest is line:
                raise too_many
            dropped = self._turns.drop_last(longest)
        dropped.reject(too_many)

    def _add(self, line: ClientLine[Job[Any]], job: Job[Any]) -> None:
        with self._lock:
            self._turns.add(line, job)
            starts = self._busy < self._threads
            self._busy += starts
        if starts:
            self._pool.submit(self._serve)

    def _serve(self) -> None:
        while (taken := self._take()) is not None:
            line, job = taken
            start = time.monotonic()
            job.run()
            with self._lock:
                del self._running[job]
                self._turns.end(line, time.monotonic() - start)
            # Otherwise it would live until there is more to do.
            del taken, job

    def _take(self) -> tuple[ClientLine[Job[Any]], Job[Any]] | None:
        with self._lock:
            taken = self._turns.take()
            if taken is None:
                self._busy -= 1
            else:
                line, job = taken
                self._running[job] = line
                self.started += 1
            return taken

    def _cancel(self, line: ClientLine[Job[Any]], job: Job[Any]) -> None:
        job.flag.set()
        with self._lock:
            self._turns.drop(line, lambda queued: queued is job)

    def _on_close(self, line: ClientLine[Job[Any]]) -> None:
        with self._lock:
            for job, owner in self._running.items():
                if owner is line and job.ends_with_client:
                    job.flag.set()
            dropped = self._turns.drop(line, lambda job: job.ends_with_client)
        for job in dropped:
            job.reject()


class RemoteWaits:
    """Counts the requests that wait, since over one connection any number may be sent before the first has a response.

    Remembers: how many each connection has, and all together. Assumes: one event loop. Fails: with
    `TooManyLongCalls`.
    """

    def __init__(self, max_each: int = MAX_QUEUED_CALLS) -> None:
        self._max_each = max_each
        self._max_all = MAX_CLIENTS_QUEUED * max_each
        self._all = 0
        self._each: WeakKeyDictionary[ClientConnection, int] = WeakKeyDictionary()

    @contextmanager
    def held(self, client: ClientConnection) -> Iterator[None]:
        """Count a request of a client meanwhile; raise if it has too many, or if all together have."""
        count = self._each.get(client, 0)
        if count >= self._max_each:
            raise TooManyLongCalls(self._max_each)
        if self._all >= self._max_all:
            raise TooManyLongCalls(self._max_all, " for all clients together")
        self._each[client] = count + 1
        self._all += 1
        try:
            yield
        finally:
            self._all -= 1
            self._each[client] -= 1
