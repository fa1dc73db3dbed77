"""Inject faults into a cluster one after another, each once the chain goes on after the one before."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.robustness.cluster.load import History
from tests.robustness.cluster.proxy import PostgresProxy
from tests.support.cluster.nodes import ClusterNodeProcess, ClusterProcesses

RECOVERY_SECONDS = 60.0
"""How long the chain may take to go on, on a busy machine, before it counts as stuck."""


class Injected(NamedTuple):
    """A fault, and how long it took until a client was told again that a transaction is durable."""

    name: str
    recovery_seconds: float


class Faults:
    """Injects random faults; nodes that were killed start again before the next one."""

    def __init__(
        self,
        cluster: ClusterProcesses,
        proxies: Sequence[PostgresProxy],
        history: History,
        seed: int,
    ) -> None:
        self._cluster = cluster
        self._proxies = proxies
        self._history = history
        self._randomness = random.Random(seed)
        self.injected: list[Injected] = []
        self._kinds: dict[str, Callable[[], None]] = {
            "kill the producer": self._kill_producer,
            "kill any node": self._kill_any,
            "stop the producer gracefully": self._stop_producer,
            "pause the producer beyond its lease": self._pause_producer,
            "cut the producer's connections": self._cut,
            "hang the producer's connections": self._hang,
            "delay the producer's connections": self._delay,
        }
        if cluster.postgres.can_restart:
            self._kinds["restart PostgreSQL"] = self._restart_postgres

    def run(self, count: int) -> None:
        """Inject so many faults, every kind as often as any other."""
        kinds: list[str] = []
        for _ in range(count):
            if not kinds:
                kinds = sorted(self._kinds)
                self._randomness.shuffle(kinds)
            self.inject(kinds.pop())

    def inject(self, name: str) -> None:
        """Inject a fault, wait until the chain goes on, and repair what is down."""
        began = time.monotonic()
        self._kinds[name]()
        over = time.monotonic()
        before = len(self._history.acknowledged)
        while not self._goes_on(before, began):
            if time.monotonic() - over > RECOVERY_SECONDS:
                self._history.violations.append(f"the chain does not go on after: {name}")
                break
            time.sleep(0.02)
        self.injected.append(Injected(name, time.monotonic() - over))
        for node in self._cluster.nodes:
            if not node.is_running:
                node.kill()
                node.start()

    def _goes_on(self, before: int, began: float) -> bool:
        return any(it.at > began for it in self._history.acknowledged[before:])

    def _producer(self) -> ClusterNodeProcess:
        return self._cluster.producer()

    def _kill_producer(self) -> None:
        self._producer().kill()

    def _kill_any(self) -> None:
        self._randomness.choice(self._cluster.nodes).kill()

    def _stop_producer(self) -> None:
        self._producer().stop()

    def _pause_producer(self) -> None:
        node = self._producer()
        node.pause()
        time.sleep(self._cluster.lease_seconds * self._randomness.uniform(1.2, 2.5))
        node.go_on()

    def _restart_postgres(self) -> None:
        self._cluster.postgres.stop()
        time.sleep(self._randomness.uniform(0, 1))
        self._cluster.postgres.start()

    def _proxy(self) -> PostgresProxy:
        return self._proxies[self._cluster.nodes.index(self._producer())]

    def _cut(self) -> None:
        self._proxy().cut()

    def _hang(self) -> None:
        proxy = self._proxy()
        proxy.set_mode("hang")
        time.sleep(self._cluster.lease_seconds * self._randomness.uniform(0.5, 2.5))
        proxy.set_mode("pass")

    def _delay(self) -> None:
        proxy = self._proxy()
        proxy.set_mode("delay")
        time.sleep(self._cluster.lease_seconds)
        if self._randomness.random() < 0.5:
            proxy.cut()
        proxy.set_mode("pass")
