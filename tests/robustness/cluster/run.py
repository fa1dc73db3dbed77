"""A cluster under load and faults, from start to proof."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.robustness.cluster.checker import check
from tests.robustness.cluster.faults import Faults, Injected
from tests.robustness.cluster.load import FAILURES, History, Reader, Sender
from tests.robustness.cluster.proxy import PostgresProxy
from tests.support.cluster.nodes import OPERATOR, ClusterProcesses, running_cluster
from tests.support.cluster.postgres import running_postgres
from tests.support.rollup.pair import Pair
from tests.support.rpc_client import HttpRpcClient, RpcError

NODES = 3
SENDERS = (1, 2)
DEPOSIT_SECONDS = 2.0


def run_faults(folder: Path, faults: int, seed: int) -> list[Injected]:
    """Inject faults while clients write, read and deposit, and prove that nothing was lost, doubled or blocked."""
    history = History()
    with running_postgres() as postgres, contextlib.ExitStack() as stack:
        socket = f"{parse_qs(urlsplit(postgres.url).query)['host'][0]}/.s.PGSQL.5432"
        proxies = [stack.enter_context(PostgresProxy(socket).running()) for _ in range(NODES)]
        cluster = stack.enter_context(running_cluster(postgres, folder))
        nonce = operator_nonce(cluster)
        for proxy in proxies:
            cluster.add("--cluster", cluster.url_by_port(proxy.port))
        injector = Faults(cluster, proxies, history, seed)
        with under_load(cluster, history, seed) as senders:
            cluster.producer()
            injector.run(faults)
        check(cluster, history, senders, nonce)
    return injector.injected


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
    client = HttpRpcClient(cluster.l1_url)
    try:
        return int(client("eth_getTransactionCount", str(OPERATOR.address), "latest"), 16)
    finally:
        client.close()
