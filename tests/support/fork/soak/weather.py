"""Troubles of a remote while a fork uses it: another trouble every moment."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Final

from tests.support.fork import faults

if TYPE_CHECKING:
    from tests.support.fork.proxy import FaultyProxy

MOMENT: Final = (0.2, 2.0)
"""How long a trouble lasts, in seconds."""

_SINGLE: Final = (
    faults.too_many_requests("0"),
    faults.too_many_requests(),
    faults.rejected(-32005, "limit exceeded"),
    faults.status(502, "<html>bad gateway</html>"),
    faults.dropped,
    faults.truncated,
    faults.body_of(b"<html>"),
    faults.body_of(
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}'
    ),
    faults.body_of(b"[]"),
    faults.body_of(b'"\xff"'),
    faults.deep_json(100_000),
    faults.huge(20 << 20),
)


class Weather(threading.Thread):
    """Lets a proxy misbehave, each moment in another way. Remembers: how often it did in which."""

    def __init__(self, proxy: FaultyProxy, branches: tuple[str, str], seed: int) -> None:
        super().__init__(name="weather", daemon=True)
        self.seen: Counter[str] = Counter()
        self._proxy = proxy
        self._branches = branches
        self._random = Random(seed)
        self._over = threading.Event()
        self._troubles: dict[str, Callable[[], None]] = {
            "calm": lambda: None,
            "slow": self._slow,
            "rate limit": lambda: self._each(faults.rate_limited(self._random.randrange(1, 40))),
            "flaky": lambda: self._each(faults.flaky(_SINGLE, self._random.random(), self._random)),
            "dead": self._dead,
            "silent": lambda: self._each(faults.stalled),
            "truncated": lambda: self._each(faults.truncated),
            "wrong ids": lambda: setattr(self._proxy, "wrong_ids", True),
            "missing members": lambda: setattr(self._proxy, "drop_members", 1),
            "small batches": lambda: setattr(
                self._proxy, "max_batch", self._random.randrange(1, 9)
            ),
            "no archive": lambda: setattr(self._proxy, "oldest_state", 1_000),
            "no hashes": lambda: setattr(self._proxy, "rejects_block_hashes", True),
            "reorganised": self._reorganised,
        }

    def run(self) -> None:
        """Change the weather until the end."""
        names = list(self._troubles)
        while not self._over.is_set():
            name = self._random.choice(names)
            self.seen[name] += 1
            self._troubles[name]()
            self._over.wait(self._random.uniform(*MOMENT))
            self.clear()

    def end(self) -> None:
        """Let the remote behave from now on."""
        self._over.set()
        self.join()
        self.clear()

    def clear(self) -> None:
        """Let the remote behave."""
        proxy = self._proxy
        proxy.latency, proxy.fault = 0.0, None
        proxy.wrong_ids, proxy.drop_members, proxy.max_batch = False, 0, None
        proxy.oldest_state, proxy.rejects_block_hashes = None, False
        proxy.node = self._branches[0]
        proxy.listen()
        proxy.forget()

    def _each(self, fault: faults.Fault) -> None:
        self._proxy.fault = fault

    def _slow(self) -> None:
        self._proxy.latency = self._random.uniform(0.05, 0.8)

    def _dead(self) -> None:
        self._proxy.fault = faults.dropped
        self._proxy.stop_listening()

    def _reorganised(self) -> None:
        self._proxy.node = self._branches[1]
