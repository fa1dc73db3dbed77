"""A proxy between a node and its L1 that lies by a seeded plan, and knows which lies changed a response."""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple

from tests.robustness.lies import FAILURES, LIES, SEND, Answer, Json, Lie, Request
from tests.support.rpc_client import HttpRpcClient

FAILED: Final = 0.03
LIED_TO: Final = 0.2
SENDS_LIED_TO: Final = 0.6
"""Shares of the requests. A lie changes few of the responses that it is tried on, and few requests are sends."""


class Window(NamedTuple):
    """A moment of a conversation: before the L1 gets a request, or before the node gets its response."""

    method: str
    answered: bool

    def __str__(self) -> str:
        return f"{'after' if self.answered else 'before'} {self.method}"


def by_chance(request: Request, choice: random.Random) -> Sequence[Lie]:
    """Lie about some requests, and fail some."""
    drawn = choice.random()
    share = SENDS_LIED_TO if request.method == SEND else LIED_TO
    return FAILURES if drawn < FAILED else LIES if drawn < FAILED + share else ()


class LyingL1:
    """Forwards requests to an L1, and lies about some.

    `told` counts the lies that changed a response or an effect, by kind and method. Of the lies that fit a request,
    those that were told least are preferred, so that all of them are told soon.
    """

    def __init__(self, upstream: str, seed: int) -> None:
        self.told: Counter[tuple[str, str]] = Counter()
        self.requests: Counter[str] = Counter()
        self.unanswered: Counter[str] = Counter()
        """Requests that the L1 did not answer, because it was away."""
        self.orphans: list[Json] = []
        """Logs of blocks that a reorg removed, as a node on the old fork still has them."""
        self.oldest = 0
        """A block that every node has, however far it is behind."""
        self.lies = False
        self._upstream = upstream
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._armed: tuple[Window, Callable[[], None]] | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def kinds(self) -> Counter[str]:
        """Return how often each kind of lie was told."""
        counted: Counter[str] = Counter()
        for (kind, _), times in self.told.items():
            counted[kind] += times
        return counted

    def at(self, window: Window, event: Callable[[], None]) -> threading.Event:
        """Run `event` the next time that a conversation is at `window`; the result is set then."""
        reached = threading.Event()

        def run() -> None:
            event()
            reached.set()

        with self._lock:
            self._armed = (window, run)
        return reached

    def disarm(self) -> None:
        """Forget the event of `at`."""
        with self._lock:
            self._armed = None

    def close(self) -> None:
        """Stop, and hang up on everybody."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def respond(self, body: bytes, upstream: HttpRpcClient) -> Answer:
        """Return the response to a request, which may be a lie."""
        request = Request(json.loads(body), upstream, self)
        with self._lock:
            self.requests[request.method] += 1
            seed = self._random.getrandbits(32)
        self._reach(Window(request.method, answered=False))
        try:
            answer = self._answer(request, random.Random(seed))
        except OSError:
            self.unanswered[request.method] += 1
            answer = Answer(None)
        self._reach(Window(request.method, answered=True))
        return answer

    def _answer(self, request: Request, choice: random.Random) -> Answer:
        kinds = by_chance(request, choice) if self.lies else ()
        counted = self.kinds()
        for lie in sorted(kinds, key=lambda it: (1 + counted[it.kind]) * choice.random()):
            answer = lie.tell(request, choice)
            if answer is not None:
                with self._lock:
                    self.told[lie.kind, request.method] += 1
                time.sleep(answer.delay)
                return answer
        return Answer(request.forward())

    def _reach(self, window: Window) -> None:
        with self._lock:
            if self._armed is None or self._armed[0] != window:
                return
            _, event = self._armed
            self._armed = None
        event()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Otherwise a response waits for the acknowledgement of its head.
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_POST(self) -> None:  # its name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                upstream = HttpRpcClient(proxy._upstream)  # a part of it
                with contextlib.closing(upstream):
                    answer = proxy.respond(body, upstream)
                if answer.body is None:
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def handle(self) -> None:
                # The node is killed again and again.
                with contextlib.suppress(OSError):
                    super().handle()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name
                pass

        return Handler


@contextlib.contextmanager
def lying_l1(upstream: str, seed: int) -> Iterator[LyingL1]:
    """Start a proxy in front of an L1, and close it at the end."""
    proxy = LyingL1(upstream, seed)
    try:
        yield proxy
    finally:
        proxy.close()
