"""Faults of nodes: they are killed, stopped and paused, their disks are full, their clocks are wrong."""

from __future__ import annotations

import time

from tests.robustness.cluster.targets import Fault, NodeTargets, Repair, Targets
from tests.support.polling import eventually

LARGEST_SKEW_SECONDS = 3_600.0
LEAST_SKEW_SECONDS = 3.0


def kill_producer(targets: Targets) -> None:
    """Kill the node that produces."""
    targets.producer().node.kill()


def kill_any(targets: Targets) -> None:
    """Kill any node, perhaps while it applies something."""
    targets.randomness.choice(targets.cluster.nodes).kill()


def stop_producer(targets: Targets) -> None:
    """Stop the node that produces as an operator does."""
    targets.producer().node.stop()


def pause_producer(targets: Targets) -> None:
    """Pause the node that produces until another one does."""
    node = targets.producer().node
    node.pause()
    time.sleep(targets.seconds(1.2, 2.5))
    node.go_on()


def fill_producers_disk(targets: Targets) -> Repair:
    """Leave no space to the node that produces."""
    return _fill(targets.producer())


def fill_replicas_disk(targets: Targets) -> Repair:
    """Leave no space to a node that follows."""
    return _fill(targets.replica())


def _fill(node: NodeTargets) -> Repair:
    assert node.disk is not None
    node.disk.fill()
    eventually(lambda: "no space left" in node.node.health().get("reason", ""), node.node.printed)
    return node.disk.free


def skew_clock(targets: Targets) -> Repair:
    """Kill the node that produces, while the clock of another one is too wrong to take over."""
    skewed, producer = targets.replica(), targets.producer()
    skew = targets.randomness.uniform(LEAST_SKEW_SECONDS, LARGEST_SKEW_SECONDS)
    skewed.clock.set(targets.randomness.choice((skew, -skew)))
    producer.node.kill()

    def repair() -> None:
        if targets.cluster.producer() is skewed.node:
            targets.history.violations.append(f"{skewed.node.name} took over with a wrong clock")
        skewed.clock.set(0.0)

    return repair


NODE_FAULTS: dict[str, Fault] = {
    "kill the producer": kill_producer,
    "kill any node": kill_any,
    "stop the producer gracefully": stop_producer,
    "pause the producer beyond its lease": pause_producer,
    "kill the producer beside a wrong clock": skew_clock,
}
DISK_FAULTS: dict[str, Fault] = {
    "fill the producer's disk": fill_producers_disk,
    "fill a replica's disk": fill_replicas_disk,
}
