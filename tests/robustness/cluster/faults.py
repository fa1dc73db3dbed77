"""Inject faults into a cluster one after another, each once the chain goes on after the one before."""

from __future__ import annotations

import logging
import time
from typing import NamedTuple

from tests.robustness.cluster.l1_faults import L1_FAULTS
from tests.robustness.cluster.node_faults import DISK_FAULTS, NODE_FAULTS
from tests.robustness.cluster.postgres_faults import CONNECTION_FAULTS, SERVER_FAULTS
from tests.robustness.cluster.targets import Fault, Targets

log = logging.getLogger(__name__)

RECOVERY_SECONDS = 60.0
"""How long the chain may take to go on, on a busy machine, before it counts as stuck."""


class Injected(NamedTuple):
    """A fault, and how long it took until a client was told again that a transaction is durable."""

    name: str
    recovery_seconds: float


class Faults:
    """Injects random faults; nodes that were killed start again before the next one."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self.injected: list[Injected] = []
        self._kinds: dict[str, Fault] = NODE_FAULTS | CONNECTION_FAULTS | L1_FAULTS
        if targets.cluster.postgres.can_restart:
            self._kinds |= SERVER_FAULTS
        if all(node.disk is not None for node in targets.nodes):
            self._kinds |= DISK_FAULTS

    def run(self, count: int) -> None:
        """Inject so many faults, every kind as often as any other."""
        kinds: list[str] = []
        for _ in range(count):
            if not kinds:
                kinds = sorted(self._kinds)
                self._targets.randomness.shuffle(kinds)
            self.inject(kinds.pop())

    def inject(self, name: str) -> None:
        """Inject a fault, wait until the chain goes on, and repair what is down."""
        began = time.monotonic()
        repair = self._kinds[name](self._targets)
        over = time.monotonic()
        history = self._targets.history
        before = len(history.acknowledged)
        while not self._goes_on(before, began):
            if time.monotonic() - over > RECOVERY_SECONDS:
                history.violations.append(f"the chain does not go on after: {name}")
                break
            time.sleep(0.02)
        self.injected.append(Injected(name, time.monotonic() - over))
        log.info("%s: %.2f s, then %.2f s", name, over - began, self.injected[-1].recovery_seconds)
        if repair is not None:
            repair()
        for node in self._targets.cluster.nodes:
            if not node.is_running:
                node.kill()
                node.start()

    def _goes_on(self, before: int, began: float) -> bool:
        return any(
            transaction.at > began for transaction in self._targets.history.acknowledged[before:]
        )
