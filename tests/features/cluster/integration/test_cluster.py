"""A cluster of real processes on a real PostgreSQL: what clients see, and what happens when a node goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clients.accounts import ALICE, signed_transfer
from tests.support.cluster.nodes import ClusterProcesses, running_cluster
from tests.support.cluster.postgres import Postgres
from tests.support.cluster.skewed_clock import SkewedClock
from tests.support.inprocess_node import run_command
from tests.support.polling import eventually
from tests.support.rpc_client import RpcClient, health_of

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(postgres: Postgres, tmp_path: Path) -> Iterator[ClusterProcesses]:
    with running_cluster(postgres, tmp_path, nodes=2) as started:
        yield started


def nonce(client: RpcClient) -> int:
    return int(client("eth_getTransactionCount", ALICE.address, "latest"), 16)


def number(client: RpcClient, tag: str) -> int:
    return int(client("eth_getBlockByNumber", tag, False)["number"], 16)


def test_another_node_takes_over_with_the_chain_and_the_pool(cluster: ClusterProcesses) -> None:
    first = cluster.producer()
    (second,) = [node for node in cluster.nodes if node is not first]
    sent = [second.client("eth_sendRawTransaction", signed_transfer(n)) for n in (0, 2)]
    first.kill()
    eventually(lambda: second.health()["role"] == "producer", second.printed)
    assert second.client("eth_getTransactionReceipt", sent[0]) is not None
    # It had no predecessor, so no block could include it before.
    assert second.client("eth_getTransactionByHash", sent[1])["blockNumber"] is None
    second.client("eth_sendRawTransaction", signed_transfer(1))
    assert second.client("eth_getTransactionReceipt", sent[1]) is not None
    first.start()
    eventually(lambda: nonce(first.client) == 3, first.printed)
    assert first.health()["role"] == "replica"


def test_what_a_paused_producer_does_not_answer_is_sent_to_the_next_one(
    cluster: ClusterProcesses,
) -> None:
    first = cluster.producer()
    replica = cluster.add("--no-takeover", "--forward-seconds", "30")
    replica.client("eth_sendRawTransaction", signed_transfer(0))
    first.pause()
    assert replica.client("eth_sendRawTransaction", signed_transfer(1))
    assert replica.client("eth_sendRawTransactionSync", signed_transfer(2))["status"] == "0x1"
    first.go_on()
    eventually(lambda: nonce(first.client) == 3, first.printed)


def test_a_copy_of_a_running_node_starts_as_a_replica(
    cluster: ClusterProcesses, tmp_path: Path
) -> None:
    producer = cluster.producer()
    sent = [producer.client("eth_sendRawTransaction", signed_transfer(n)) for n in range(5)]
    copy = tmp_path / f"node-{len(cluster.nodes)}"
    done = run_command("backup", "--data-dir", str(producer.data_dir), str(copy))
    assert done.returncode == 0, done.stderr
    done = run_command("backup", "--data-dir", str(producer.data_dir), str(copy))
    assert "exists" in done.stderr
    # It need not read what the copy has: without that the log could not be followed from its beginning.
    cluster.execute("delete from entresol.log where seq < 5")
    producer.client("eth_sendRawTransaction", signed_transfer(5))
    joined = cluster.add("--no-takeover")
    eventually(lambda: nonce(joined.client) == 6, joined.printed)
    assert joined.client("eth_getTransactionReceipt", sent[0]) == producer.client(
        "eth_getTransactionReceipt", sent[0]
    )


def test_the_chain_goes_on_after_postgresql_restarts(cluster: ClusterProcesses) -> None:
    if not cluster.postgres.can_restart:
        pytest.skip("the server is not ours")
    client = cluster.nodes[0].client
    client("eth_sendRawTransaction", signed_transfer(0))
    strict = cluster.add("--max-lag", "0.5", "--no-takeover")
    eventually(lambda: health_of(strict.url)[0] == 200)
    cluster.postgres.stop()
    eventually(lambda: health_of(strict.url)[0] == 503)
    assert "behind the cluster" in strict.health()["reason"]
    assert strict.stop() == 0
    assert nonce(client) == 1
    cluster.postgres.start()
    cluster.producer()
    client("eth_sendRawTransaction", signed_transfer(1))
    assert nonce(client) == 2


def test_a_batch_that_l1_has_is_not_unwound(cluster: ClusterProcesses) -> None:
    client = cluster.producer().client
    client("eth_sendRawTransaction", signed_transfer(0))
    eventually(lambda: number(client, "finalized") == 1)
    done = run_command("cluster", "unwind", "--to", "0", "--cluster", cluster.url)
    assert done.returncode == 1
    assert "batch 1 ends at block 1" in done.stderr
    for node in cluster.nodes:
        details = eventually(lambda node=node: node.client("zks_getL1BatchDetails", 1))  # type: ignore[misc]
        eventually(lambda node=node: node.client("zks_getL1BatchDetails", 1)["executeTxHash"])  # type: ignore[misc]
        assert details["number"] == 1
    cluster.producer().client("eth_sendRawTransaction", signed_transfer(1))


def test_a_node_with_a_wrong_clock_follows_and_does_not_take_over(
    postgres: Postgres, tmp_path: Path
) -> None:
    clock = SkewedClock(tmp_path / "clock")
    clock.set(-10.0)
    with running_cluster(postgres, tmp_path) as cluster:
        node = cluster.add(command=clock.command)
        problem = "the clock of this node is 10.0 s behind the database's, so it does not take over"
        eventually(lambda: node.health()["cluster"] == problem, node.printed)
        right = cluster.add()
        right.client("eth_sendRawTransaction", signed_transfer(0))
        eventually(lambda: nonce(node.client) == 1, node.printed)
        right.kill()
        eventually(lambda: node.health()["cluster"] == problem, node.printed)
        clock.set(0.0)
        eventually(lambda: node.health()["role"] == "producer", node.printed)


def test_operators_see_the_nodes_and_go_back_to_a_block(postgres: Postgres, tmp_path: Path) -> None:
    with running_cluster(postgres, tmp_path, "--no-settle", nodes=2) as cluster:
        go_back(cluster)


def go_back(cluster: ClusterProcesses) -> None:
    """Show the nodes, unwind to the genesis, and wait until everything is included again."""
    producer = cluster.producer()
    sent = [producer.client("eth_sendRawTransaction", signed_transfer(n)) for n in range(3)]
    hashes = [
        producer.client("eth_getTransactionReceipt", transaction)["blockHash"]
        for transaction in sent
    ]
    status = cluster.run("status")
    assert f"produced by {producer.url}" in status
    eventually(lambda: all(node.url in cluster.run("status") for node in cluster.nodes))
    assert "3 transactions" in cluster.run("unwind", "--to", "0")

    def is_included_again() -> bool:
        found = [
            node.client("eth_getTransactionReceipt", transaction)
            for transaction in sent
            for node in cluster.nodes
        ]
        return all(entry is not None and entry["blockHash"] not in hashes[1:] for entry in found)

    eventually(is_included_again, lambda: "\n".join(node.printed() for node in cluster.nodes))
    heads = [node.client("eth_getBlockByNumber", "latest", False)["hash"] for node in cluster.nodes]
    assert heads[0] == heads[1]
