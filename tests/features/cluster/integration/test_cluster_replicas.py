"""A replica's clients: subscriptions of its own, and everything that only the producer knows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from web3 import Web3
from websockets.sync.client import connect

from tests.support.clients.accounts import ALICE, NOBODY, send_next, sign_next, signed_transfer
from tests.support.clients.subscriber import Subscriber
from tests.support.cluster.nodes import ClusterNodeProcess, ClusterProcesses, running_cluster
from tests.support.cluster.postgres import Postgres
from tests.support.polling import eventually
from tests.support.rpc_client import RpcError

pytestmark = pytest.mark.slow

LOG_NUMBER = "0x6005600b5f3960055ff300435f5fa100"
"""Creates a contract that emits a log with the number of the block."""


@pytest.fixture(scope="module")
def cluster(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClusterProcesses]:
    with running_cluster(postgres, tmp_path_factory.mktemp("cluster"), nodes=3) as started:
        yield started


def roles(cluster: ClusterProcesses) -> tuple[ClusterNodeProcess, ClusterNodeProcess]:
    """Return the producer, and a replica."""
    producer = cluster.producer()
    return producer, next(
        node for node in cluster.nodes if node is not producer and node.is_running
    )


@contextlib.contextmanager
def subscribed(node: ClusterNodeProcess, *options: object) -> Iterator[Subscriber]:
    with connect(node.url.replace("http:", "ws:")) as opened:
        subscriber = Subscriber(opened)
        subscriber("eth_subscribe", *options)
        yield subscriber


def test_a_replica_notifies_of_heads_and_logs_that_the_producer_seals(
    cluster: ClusterProcesses,
) -> None:
    producer, replica = roles(cluster)
    created = send_next(producer.client, data=LOG_NUMBER)["contractAddress"]
    contract = Web3.to_checksum_address(created)
    with (
        subscribed(replica, "newHeads") as heads,
        subscribed(replica, "logs", {"address": contract}) as logs,
    ):
        receipt = send_next(producer.client, to=contract)
        assert logs.next()["transactionHash"] == receipt["transactionHash"]
        expected = receipt["blockHash"]
        assert eventually(lambda: heads.next()["hash"] == expected)


@pytest.mark.parametrize("is_full", [False, True])
def test_a_replica_notifies_of_transactions_that_any_node_takes(
    cluster: ClusterProcesses, is_full: bool
) -> None:
    producer, replica = roles(cluster)
    with subscribed(replica, "newPendingTransactions", is_full) as subscriber:
        for node in (replica, producer, replica):
            sent = send_next(node.client, to=NOBODY)["transactionHash"]
            found = subscriber.next()
            assert (found["hash"] if is_full else found) == sent


def test_a_replica_serves_what_is_pending_and_filters_by_the_producer(
    cluster: ClusterProcesses,
) -> None:
    producer, replica = roles(cluster)
    client = replica.client
    created = client("eth_newPendingTransactionFilter")
    nonce = int(client("eth_getTransactionCount", ALICE.address, "latest"), 16)
    later = producer.client("eth_sendRawTransaction", signed_transfer(nonce + 1))
    assert client("eth_getTransactionByHash", later)["blockNumber"] is None
    assert client("eth_getTransactionReceipt", later) is None
    assert client("txpool_status") == {"pending": "0x0", "queued": "0x1"}
    first = client("eth_sendRawTransaction", signed_transfer(nonce))
    assert client("eth_getFilterChanges", created) == [later, first]
    assert client("eth_getTransactionReceipt", later)["status"] == "0x1"
    assert int(client("eth_getTransactionCount", ALICE.address, "pending"), 16) == nonce + 2
    assert client("eth_uninstallFilter", created) is True


def test_a_replica_waits_for_a_receipt_as_long_as_its_client_wants(
    cluster: ClusterProcesses,
) -> None:
    replica = cluster.add("--no-takeover", "--forward-seconds", "1")
    # The new node may not have followed so far yet.
    nonce = int(replica.client("eth_getTransactionCount", ALICE.address, "pending"), 16)
    with pytest.raises(RpcError, match=r"no block included it in 2\.5 s"):
        replica.client("eth_sendRawTransactionSync", signed_transfer(nonce + 1), 2_500)
    send = "eth_sendRawTransactionSync"
    assert replica.client(send, signed_transfer(nonce))["status"] == "0x1"
    assert replica.client(send, signed_transfer(nonce + 1))["status"] == "0x1"


def test_the_next_producer_feeds_the_subscribers_of_replicas(cluster: ClusterProcesses) -> None:
    first, _ = roles(cluster)
    others = [node for node in cluster.nodes if node is not first]
    with (
        subscribed(others[0], "newPendingTransactions") as one,
        subscribed(others[1], "newPendingTransactions") as two,
    ):
        first.kill()
        cluster.producer()

        def is_fed(node: ClusterNodeProcess, subscriber: Subscriber) -> bool:
            raw = sign_next(node.client, to=NOBODY)
            return node.client("eth_sendRawTransaction", raw) in subscriber.within(0.5)

        for node in others:
            for subscriber in (one, two):
                eventually(lambda it=node, to=subscriber: is_fed(it, to), node.printed)  # type: ignore[misc]
