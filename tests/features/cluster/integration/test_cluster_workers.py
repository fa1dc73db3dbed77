"""Nodes of a cluster with workers of their own, which follow the store of their node whatever its role is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.support.clients.accounts import ALICE, NOBODY, signed_transfer
from tests.support.clients.subscriber import Subscriber
from tests.support.cluster.nodes import ClusterNodeProcess, ClusterProcesses, running_cluster
from tests.support.cluster.postgres import Postgres
from tests.support.polling import PATIENCE_SECONDS, eventually
from tests.support.rpc_client import RpcClient
from tests.support.workers import ProcessClient, clients_of, connect_to, workers_of

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(postgres: Postgres, tmp_path: Path) -> Iterator[ClusterProcesses]:
    with running_cluster(postgres, tmp_path) as started:
        for _ in range(2):
            started.add("--workers", "2")
        yield started


def other_than(cluster: ClusterProcesses, node: ClusterNodeProcess) -> ClusterNodeProcess:
    (found,) = [log for log in cluster.nodes if log is not node]
    return found


def nonce(client: RpcClient) -> int:
    return int(client("eth_getTransactionCount", ALICE.address, "latest"), 16)


def test_any_process_of_any_node_takes_a_transaction_and_sees_it_at_once(
    cluster: ClusterProcesses,
) -> None:
    producer = cluster.producer()
    replica = other_than(cluster, producer)
    with clients_of(producer.running) as ours, clients_of(replica.running) as theirs:
        clients = [*ours, *theirs]
        assert len(clients) == 4
        for number in range(8):
            client = clients[number % 4]
            sent = client("eth_sendRawTransaction", signed_transfer(number))
            assert client("eth_getTransactionReceipt", sent)["status"] == "0x1"
            assert int(client("eth_getBalance", NOBODY, "latest"), 16) == number + 1
        for client in clients:
            eventually(lambda client=client: nonce(client) == 8)  # type: ignore[misc]
        heads = [client("eth_getBlockByNumber", "latest", False)["hash"] for client in clients]
        assert len(set(heads)) == 1
        # What another node forwards may reach any process of the producer.
        assert {client("eth_gasPrice") for client in clients} == {ours[0]("eth_gasPrice")}
    for node in cluster.nodes:
        assert node.health()["workers"] == {"running": 1, "expected": 1, "silent": 0}
    assert {node.health()["role"] for node in cluster.nodes} == {"producer", "replica"}


def test_workers_go_on_while_their_node_takes_over(cluster: ClusterProcesses) -> None:
    first = cluster.producer()
    second = other_than(cluster, first)
    (worker,) = workers_of(second.running)
    accepted = connect_to(second.url, worker)
    with connect(second.url.replace("http:", "ws:"), sock=accepted) as opened:
        subscriber = Subscriber(opened)
        subscriber("eth_subscribe", "newHeads")
        client = ProcessClient(second.url, worker)
        client("eth_sendRawTransaction", signed_transfer(0))
        assert int(subscriber.next()["number"], 16) == 1
        first.kill()
        client("eth_sendRawTransaction", signed_transfer(1))
        assert nonce(client) == 2
        assert second.health()["role"] == "producer"
        head = client("eth_getBlockByNumber", "latest", False)
        assert subscriber.next()["hash"] == head["hash"]
        client.close()
    assert workers_of(second.running) == [worker]


@pytest.mark.parametrize("is_worker", [False, True], ids=["producer", "worker"])
def test_any_process_of_the_producer_feeds_members_and_nobody_else(
    cluster: ClusterProcesses, is_worker: bool
) -> None:
    node = cluster.producer()
    (worker,) = workers_of(node.running)
    member = cluster.fetch_value("select id from entresol.node where role = 'replica'")
    url = node.url.replace("http:", "ws:") + "/cluster/pending"
    with contextlib.ExitStack() as stack:

        def opened() -> ClientConnection:
            accepted = connect_to(node.url, worker if is_worker else node.pid)
            return stack.enter_context(connect(url, sock=accepted))

        def answer(client: ClientConnection, name: str) -> str | bytes:
            client.send(f"pending {name}")
            return client.recv(PATIENCE_SECONDS)

        strangers, fed = [opened() for _ in range(10)], opened()
        assert {answer(stranger, "stranger") for stranger in strangers} == {"-"}
        # A member that has joined a moment ago may not be known yet.
        eventually(lambda: answer(fed, member) == "+", node.printed)
        raw = signed_transfer(0)
        node.client("eth_sendRawTransaction", raw)
        assert fed.recv(PATIENCE_SECONDS) == raw
        again = opened()
        assert answer(again, member) == "+"
        fed.close()
        raw = signed_transfer(1)
        node.client("eth_sendRawTransaction", raw)
        assert again.recv(PATIENCE_SECONDS) == raw
