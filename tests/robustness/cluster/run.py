"""A cluster under load and faults, from start to proof."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.robustness.cluster.checker import check
from tests.robustness.cluster.faults import Faults, Injected, NodeTargets, Targets
from tests.robustness.cluster.load import FAILURES, History, Reader, Sender
from tests.support.cluster.nodes import OPERATOR, ClusterProcesses, node_name, running_cluster
from tests.support.cluster.postgres import running_postgres
from tests.support.cluster.proxy import PostgresProxy, socket_of
from tests.support.cluster.skewed_clock import SkewedClock
from tests.support.fork.proxy import faulty_proxy
from tests.support.rollup.pair import Pair
from tests.support.rpc_client import HttpRpcClient, RpcError
from tests.support.small_disk import SmallDisk, disk_if_possible

NODES = 3
SENDERS = (1, 2)
DISK_MEGABYTES = 64
FORWARD_SECONDS = "2"
"""A node whose disk is full never sees what it has forwarded."""
DEPOSIT_SECONDS = 2.0


def run_faults(folder: Path, faults: int, seed: int) -> list[Injected]:
    """Inject faults while clients write, read and deposit, and prove that nothing was lost, doubled or blocked."""
    history = History()
    with running_postgres() as postgres, contextlib.ExitStack() as stack:
        disks = [stack.enter_context(own_disk(folder, number)) for number in range(NODES)]
        cluster = stack.enter_context(running_cluster(postgres, folder))
        nonce = operator_nonce(cluster)
        nodes = [
            stack.enter_context(started(cluster, number, disks[number])) for number in range(NODES)
        ]
        injector = Faults(Targets(cluster, nodes, history, random.Random(seed)))
        with under_load(cluster, history, seed) as senders:
            cluster.producer()
            injector.run(faults)
        check(cluster, history, senders, nonce)
    return injector.injected


@contextlib.contextmanager
def own_disk(folder: Path, number: int) -> Iterator[SmallDisk | None]:
    """Mount a disk for the directory of a node, if that is possible."""
    path = folder / node_name(number)
    path.mkdir()
    with disk_if_possible(path, DISK_MEGABYTES) as disk:
        yield disk


@contextlib.contextmanager
def started(
    cluster: ClusterProcesses, number: int, disk: SmallDisk | None
) -> Iterator[NodeTargets]:
    """Start a node with a clock of its own, and with proxies to PostgreSQL and L1."""
    clock = SkewedClock(cluster.folder / f"{node_name(number)}.clock")
    with (
        PostgresProxy(socket_of(cluster.url)).running() as postgres,
        faulty_proxy(cluster.l1_url) as l1,
    ):
        flags = ("--cluster", cluster.url_by_port(postgres.port), "--l1-url", l1.url)
        node = cluster.add(*flags, "--forward-seconds", FORWARD_SECONDS, command=clock.command)
        yield NodeTargets(node, postgres, l1, clock, disk)


@contextlib.contextmanager
def under_load(cluster: ClusterProcesses, history: History, seed: int) -> Iterator[list[Sender]]:
    """Let clients write, read and deposit meanwhile."""
    senders = [Sender(cluster, history, index, seed) for index in SENDERS]
    readers = [Reader(node, history) for node in cluster.nodes]
    depositor = Depositor(cluster)
    threads: list[Sender | Reader | Depositor] = [*senders, *readers, depositor]
    for thread in threads:
        thread.start()
    try:
        yield senders
    finally:
        for thread in threads:
            thread.stop()
        for thread in threads:
            thread.join()


class Depositor(threading.Thread):
    """Deposits on L1 now and then."""

    def __init__(self, cluster: ClusterProcesses) -> None:
        super().__init__(daemon=True)
        l1 = HttpRpcClient(cluster.l1_url)
        self._pair = Pair(l1, l1, cluster.contracts())
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End before the next deposit."""
        self._stopped.set()

    def run(self) -> None:
        """Deposit until it is stopped."""
        while not self._stopped.wait(DEPOSIT_SECONDS):
            with contextlib.suppress(*FAILURES, RpcError):
                self._pair.deposit()
        self._pair.close()


def operator_nonce(cluster: ClusterProcesses) -> int:
    """Return the operator's nonce on L1."""
    with contextlib.closing(HttpRpcClient(cluster.l1_url)) as client:
        return int(client("eth_getTransactionCount", str(OPERATOR.address), "latest"), 16)
