"""`python -m tests.robustness.cluster.failover --kills 30`: time from a kill of the producer to the next block."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.robustness.cluster.load import ACCOUNTS, History, Sender
from tests.support.cluster.nodes import ClusterProcesses, running_cluster
from tests.support.cluster.postgres import running_postgres
from tests.support.polling import eventually

NODES = 3
SENDER = 1


def main() -> None:
    """Kill the producer again and again, and print how long the chain stood still."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--lease-seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="entresol-failover-") as folder,
        running_postgres() as postgres,
        running_cluster(postgres, Path(folder)) as cluster,
    ):
        for _ in range(NODES):
            cluster.add("--lease-seconds", str(arguments.lease_seconds))
        seconds = sorted(_failover(cluster, number) for number in range(arguments.kills))
    last = seconds[min(len(seconds) - 1, int(len(seconds) * 0.99))]
    sys.stdout.write(f"p50 {statistics.median(seconds):.2f} s, p99 {last:.2f} s\n")


def _failover(cluster: ClusterProcesses, number: int) -> float:
    """Kill the producer, and return how long it took until another node shows a new block."""
    producer = cluster.producer()
    client = next(node for node in cluster.nodes if node is not producer).client
    heads = [int(node.client("eth_blockNumber"), 16) for node in cluster.nodes]
    sender = Sender(cluster, History(), SENDER, number)
    address = str(ACCOUNTS[SENDER].address)
    sender.sent = int(producer.client("eth_getTransactionCount", address, "latest"), 16)
    began = time.monotonic()
    producer.kill()
    sender.start()
    eventually(lambda: int(client("eth_blockNumber"), 16) > max(heads))
    took = time.monotonic() - began
    sender.stop()
    sender.join()
    producer.start()
    return took


if __name__ == "__main__":
    main()
