"""Faults of a cluster, one after another, each once the chain goes on after the one before: of nodes, PostgreSQL and L1."""

from __future__ import annotations

import contextlib
import logging
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tests.robustness.cluster.load import History
from tests.support.cluster.nodes import ClusterNodeProcess, ClusterProcesses
from tests.support.cluster.proxy import PostgresProxy
from tests.support.cluster.skewed_clock import SkewedClock
from tests.support.fork.faults import dropped
from tests.support.fork.proxy import FaultyProxy
from tests.support.node_process import run_entresol
from tests.support.polling import eventually
from tests.support.rpc_client import HttpRpcClient, health_of
from tests.support.small_disk import SmallDisk

Repair = Callable[[], None]
"""What ends a fault, once the chain goes on in spite of it."""


class NodeTargets(NamedTuple):
    """A node, and what it depends on."""

    node: ClusterNodeProcess
    postgres: PostgresProxy
    l1: FaultyProxy
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


# Nodes: they are killed, stopped and paused, their disks are full, their clocks are wrong.


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


# PostgreSQL, the connections to it, and the log that it has.


MOST_LOST = 5

_LOSE = """
update entresol.lease set valid_until = '-infinity';
create table lost_log as select * from entresol.log where seq > {kept};
create table lost_lease as select seq, digest, head from entresol.lease;
delete from entresol.log where seq > {kept};
update entresol.lease set seq = {kept}, (digest, head) = (select digest, head from entresol.log where seq = {kept});
"""
_RESTORE = """
update entresol.lease set epoch = epoch + 1, valid_until = '-infinity',
    (seq, digest, head) = (select seq, digest, head from lost_lease);
insert into entresol.log select * from lost_log;
drop table lost_log, lost_lease;
"""


def restart(targets: Targets) -> None:
    """Stop PostgreSQL under load, and start it again."""
    targets.cluster.postgres.stop()
    time.sleep(targets.randomness.uniform(0, 1))
    targets.cluster.postgres.start()


def cut(targets: Targets) -> None:
    """Cut the connections of the producer, wherever they are."""
    targets.producer().postgres.cut()


def hang(targets: Targets) -> None:
    """Hold what the producer sends and receives; it arrives later, perhaps after the producer has reconnected."""
    proxy = targets.producer().postgres
    proxy.set_mode("hang")
    time.sleep(targets.seconds(0.5, 2.5))
    proxy.set_mode("pass")


def delay(targets: Targets) -> None:
    """Delay what the producer sends and receives, and perhaps cut it then."""
    proxy = targets.producer().postgres
    proxy.set_mode("delay")
    time.sleep(targets.cluster.lease_seconds)
    if targets.randomness.random() < 0.5:
        proxy.cut()
    proxy.set_mode("pass")


def lose_tail(targets: Targets) -> None:
    """Promote a server that lost the end of the log, which all nodes have applied, and restore it from the old one."""
    cluster = targets.cluster
    targets.producer()
    applied = min(node.health()["seq"] for node in cluster.nodes)
    kept = max(1, applied - targets.randomness.randint(1, MOST_LOST))
    cluster.execute(_LOSE.format(kept=kept))
    for node in targets.nodes:
        node.postgres.cut()
    eventually(lambda: all(map(_has_stopped, cluster.nodes)), cluster.nodes[0].printed)
    if cluster.fetch_value("select max(seq) from entresol.log") > kept:
        targets.history.violations.append("a node extended a log that had lost its end")
    cluster.execute(_RESTORE)


def _has_stopped(node: ClusterNodeProcess) -> bool:
    status, page = health_of(node.url)
    return status == 503 and "had lost the end of the log" in page["reason"]


CONNECTION_FAULTS: dict[str, Fault] = {
    "cut the producer's connections": cut,
    "hang the producer's connections": hang,
    "delay the producer's connections": delay,
    "lose the end of the log": lose_tail,
}
SERVER_FAULTS: dict[str, Fault] = {"restart PostgreSQL": restart}


# L1, and unwinding the chain, which settlement limits.


MOST_UNWOUND = 20
MOST_ATTEMPTS = 3
_UNDER_WAY = """
select kind = 'outgoing' from entresol.log where kind in ('outgoing', 'settled') order by seq desc limit 1
"""
_FORBIDDEN = re.compile(r"batch \d+ ends at block (\d+)")


def away(targets: Targets) -> Repair:
    """Kill the producer while no node reaches L1."""
    for node in targets.nodes:
        node.l1.fault = dropped
    targets.producer().node.kill()

    def repair() -> None:
        for node in targets.nodes:
            node.l1.fault = None

    return repair


def kill_while_settling(targets: Targets) -> Repair:
    """Kill the producer while L1 has a settlement transaction, and does not include it."""
    with stalled(targets) as repair:
        targets.producer().node.kill()
        return repair


def unwind_while_settling(targets: Targets) -> Repair:
    """Unwind while a settlement transaction is under way: never below its batch."""
    with stalled(targets) as repair:
        unwind(targets)
        return repair


def unwind(targets: Targets) -> None:
    """Unwind some blocks, or as many as are in no batch that is committed or under way."""
    targets.producer()
    wanted = targets.randomness.randint(1, MOST_UNWOUND)
    number: int | None = max(0, head(targets.cluster) - wanted)
    # L1 commits more meanwhile, so each attempt may be forbidden by another batch.
    for _ in range(MOST_ATTEMPTS):
        if number is not None:
            number = unwind_to(targets, number)


def unwind_to(targets: Targets, number: int) -> int | None:
    """Unwind to a block; if a batch forbids it, return the end of the batch once there is a block above it."""
    cluster = targets.cluster
    with targets.history.unwinding(number):
        done = run_entresol("cluster", "unwind", "--to", str(number), "--cluster", cluster.url)
    if done.returncode == 0:
        return None
    found = _FORBIDDEN.search(done.stderr)
    assert found is not None, done.stderr
    end = int(found[1])
    eventually(lambda: head(cluster) > end)
    return end


def head(cluster: ClusterProcesses) -> int:
    """Return the last block in the log."""
    return int(cluster.fetch_value("select head from entresol.lease"))


@contextlib.contextmanager
def stalled(targets: Targets) -> Iterator[Repair]:
    """Let L1 include nothing, and wait until a settlement transaction is pending there."""
    client = HttpRpcClient(targets.cluster.l1_url)

    def repair() -> None:
        client("evm_setAutomine", True)
        client("evm_mine")
        client.close()

    targets.producer()
    client("evm_setAutomine", False)
    try:
        eventually(lambda: targets.cluster.fetch_value(_UNDER_WAY))
        yield repair
    except BaseException:
        repair()
        raise


L1_FAULTS: dict[str, Fault] = {
    "kill the producer while L1 is away": away,
    "kill the producer while it settles": kill_while_settling,
    "unwind under load": unwind,
    "unwind while it settles": unwind_while_settling,
}


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
