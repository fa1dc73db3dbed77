"""Chains that publish, in processes of their own: with workers, on another L1, and in a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.anvil import Anvil, running_anvil
from tests.support.clients.accounts import signed_transfer
from tests.support.cluster.nodes import OPERATOR, ClusterProcesses, running_cluster
from tests.support.cluster.postgres import Postgres
from tests.support.inprocess_node import inprocess_node
from tests.support.node_process import ENTRESOL
from tests.support.polling import eventually
from tests.support.published.on_layer_one import PublishedOnL1
from tests.support.rpc_client import HttpRpcClient, RpcClient

PUBLISHES = ("--data-availability", "calldata", "--settle-interval", "0.05")


def check(l1: RpcClient, l2: RpcClient, count: int) -> None:
    """Check that L1 has the genesis, and everything of a chain with so many transactions."""
    published = PublishedOnL1(l1, l2)
    published.wait()
    batches = published.check()
    found = [
        transaction
        for batch in batches.values()
        for block in batch.blocks
        for transaction in block.transactions
    ]
    assert len(found) == count
    assert published.genesis().rules.chain_id == int(l2("eth_chainId"), 16)


def test_a_node_with_workers_publishes(tmp_path: Path) -> None:
    info = tmp_path / "info.json"
    flags = ("--workers", "2", "--silent", "--config-out", str(info))
    with inprocess_node(*PUBLISHES, *flags, info=info) as node:
        l1, l2 = (
            HttpRpcClient(json.loads(info.read_text())["l1"]["http_url"]),
            HttpRpcClient(node.url),
        )
        for nonce in range(5):
            l2.receipt(l2("eth_sendRawTransaction", signed_transfer(nonce)))
        check(l1, l2, 5)
        l1.close()
        l2.close()


@pytest.fixture(
    params=[(*ENTRESOL, "anvil"), pytest.param((), marks=pytest.mark.peer)], ids=["own", "anvil"]
)
def layer_one(request: pytest.FixtureRequest) -> Iterator[Anvil]:
    program: Sequence[str] = request.param
    with running_anvil(program=program) if program else running_anvil() as started:
        yield started


def test_a_chain_on_another_l1_publishes_and_goes_on_after_a_restart(
    layer_one: Anvil, tmp_path: Path
) -> None:
    flags = (
        *("--l1-url", layer_one.url, "--operator-key", str(OPERATOR.secret), "--deploy-l1"),
        *("--accounts", "10", "--l1-confirmations", "0", "--data-dir", str(tmp_path)),
    )
    for start in range(2):
        with inprocess_node(*PUBLISHES, *flags) as node:
            l2 = HttpRpcClient(node.url)
            for nonce in range(3 * start, 3 * start + 3):
                l2.receipt(l2("eth_sendRawTransaction", signed_transfer(nonce)))
            check(layer_one, l2, 3 * start + 3)
            l2.close()


@pytest.fixture
def cluster(postgres: Postgres, tmp_path: Path) -> Iterator[ClusterProcesses]:
    with running_cluster(postgres, tmp_path, *PUBLISHES, nodes=2) as started:
        yield started


@pytest.mark.slow
def test_the_next_leader_of_a_cluster_goes_on_publishing(cluster: ClusterProcesses) -> None:
    first = cluster.producer()
    (second,) = [node for node in cluster.nodes if node is not first]
    l1 = HttpRpcClient(cluster.l1_url)
    for nonce in range(3):
        second.client("eth_sendRawTransaction", signed_transfer(nonce))
    check(l1, first.client, 3)
    first.kill()
    eventually(lambda: second.health()["role"] == "producer", second.printed)
    for nonce in range(3, 6):
        second.client("eth_sendRawTransaction", signed_transfer(nonce))
    check(l1, second.client, 6)
    l1.close()
