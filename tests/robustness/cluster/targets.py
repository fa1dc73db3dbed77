"""What faults act on: the nodes of a cluster, and what is between them and everything else."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.robustness.cluster.l1_proxy import L1Proxy
from tests.robustness.cluster.load import History
from tests.support.cluster.nodes import ClusterNodeProcess, ClusterProcesses
from tests.support.cluster.proxy import PostgresProxy
from tests.support.cluster.skewed_clock import SkewedClock
from tests.support.small_disk import SmallDisk

Repair = Callable[[], None]
"""What ends a fault, once the chain goes on in spite of it."""


class NodeTargets(NamedTuple):
    """A node, and what it depends on."""

    node: ClusterNodeProcess
    postgres: PostgresProxy
    l1: L1Proxy
    clock: SkewedClock
    disk: SmallDisk | None
    """None where no file system can be mounted."""


class Targets(NamedTuple):
    """A cluster, and what chance decides with."""

    cluster: ClusterProcesses
    nodes: Sequence[NodeTargets]
    history: History
    randomness: random.Random

    def producer(self) -> NodeTargets:
        """Return the node that produces, once there is one."""
        return self.nodes[self.cluster.nodes.index(self.cluster.producer())]

    def replica(self) -> NodeTargets:
        """Return any other node."""
        producer = self.producer()
        return self.randomness.choice([node for node in self.nodes if node is not producer])

    def seconds(self, least: float, most: float) -> float:
        """Return a time between two multiples of the lease."""
        return self.cluster.lease_seconds * self.randomness.uniform(least, most)


Fault = Callable[[Targets], Repair | None]
