"""A cluster whose PostgreSQL is far away: everything is acknowledged, slowly, and nodes say why."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.support.clients.accounts import signed_transfer
from tests.support.cluster.nodes import ClusterNodeProcess, ClusterProcesses, running_cluster
from tests.support.cluster.postgres import Postgres
from tests.support.cluster.proxy import PostgresProxy, socket_of
from tests.support.polling import eventually
from tests.support.rollup.pair import RECEIVER, Pair
from tests.support.rpc_client import HttpRpcClient

pytestmark = pytest.mark.slow

ROUND_TRIP_SECONDS: Final = 0.5
DEPOSIT_SECONDS: Final = 0.1
SENT: Final = 2


@contextmanager
def depositing(cluster: ClusterProcesses) -> Iterator[list[str]]:
    """Deposit one wei after another meanwhile."""
    l1 = HttpRpcClient(cluster.l1_url)
    pair, sent, stopped = Pair(l1, l1, cluster.contracts()), list[str](), threading.Event()

    def run() -> None:
        while not stopped.wait(DEPOSIT_SECONDS):
            sent.append(pair.deposit())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield sent
    finally:
        stopped.set()
        thread.join()
        pair.close()


def deposited(node: ClusterNodeProcess) -> int:
    return int(node.client("eth_getBalance", str(RECEIVER), "latest"), 16)


def has_status(node: ClusterNodeProcess, status: str) -> None:
    """Wait until a node says so of itself."""
    eventually(lambda: node.health()["status"] == status, lambda: f"{node.health()}")


def has_deposits(node: ClusterNodeProcess, count: int) -> None:
    """Wait until a node has executed at least so many deposits."""
    eventually(lambda: deposited(node) >= count, node.printed)


def test_a_database_half_a_second_away_slows_a_cluster_down_and_stops_nothing(
    postgres: Postgres, tmp_path: Path
) -> None:
    delay = ROUND_TRIP_SECONDS / 2
    with (
        running_cluster(postgres, tmp_path) as cluster,
        PostgresProxy(socket_of(cluster.url), delay).running() as proxy,
    ):
        url = cluster.url_by_port(proxy.port)
        nodes = [cluster.add("--cluster", url, "--lease-seconds", "3") for _ in range(2)]
        producer = cluster.producer()
        (replica,) = [node for node in nodes if node is not producer]
        assert producer.health()["status"] == "ready"
        proxy.set_mode("delay")
        with depositing(cluster) as deposits:
            for node in nodes:
                has_status(node, "degraded")
                assert "a round trip to the database takes" in node.health()["reason"]
            began = time.monotonic()
            for nonce in range(SENT):
                node = (producer, replica)[nonce % 2]
                sent = node.client("eth_sendRawTransaction", signed_transfer(nonce))
                assert node.client("eth_getTransactionReceipt", sent)["status"] == "0x1"
            assert time.monotonic() - began < SENT * 8 * ROUND_TRIP_SECONDS
            has_deposits(producer, deposited(producer) + 1)
        proxy.set_mode("pass")
        for node in nodes:
            has_status(node, "ready")
            has_deposits(node, len(deposits))
        assert cluster.producer() is producer
