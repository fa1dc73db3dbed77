"""A sender's transactions are included in the order in which it sends them, to whichever process of a node or cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.primitives.values import Address
from tests.support.clients.order import (
    DETAILED,
    FEE,
    GAS,
    OrderedSender,
    Send,
    calls,
    in_one_batch,
    over_one_websocket,
)
from tests.support.cluster.nodes import ClusterProcesses, running_cluster
from tests.support.cluster.postgres import Postgres
from tests.support.contracts.accounts import paymaster_code
from tests.support.node_process import RunningNode, running_node
from tests.support.rpc_client import HttpRpcClient
from tests.support.workers import processes_of

pytestmark = pytest.mark.slow

ALICE, BOB = derive(DEVELOPMENT_MNEMONIC, 2)
PAYMASTER = Address(b"\x55" * 20)


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node("--workers", "2", "--l1-delay", "0") as running:
        with closing(HttpRpcClient(running.url)) as client:
            client("anvil_setCode", str(PAYMASTER), "0x" + paymaster_code(fee=GAS * FEE))
            client("anvil_setBalance", str(PAYMASTER), hex(1_000 * GAS * FEE))
        yield running


@pytest.mark.parametrize("send", [in_one_batch, over_one_websocket])
@pytest.mark.parametrize("process", ["producer", "worker"])
def test_any_process_of_a_node_takes_a_senders_transactions_in_order(
    node: RunningNode, process: str, send: Send
) -> None:
    pid = processes_of(node)[process == "worker"]
    sender = OrderedSender(node.url, BOB.secret, BOB.address, PAYMASTER)
    first = sender.nonce
    sent = calls(
        sender.raw(DETAILED),
        sender.filled(),
        sender.validated(),
        sender.raw(),
        sender.filled(),
        sender.validated(DETAILED),
        sender.raw("eth_sendRawTransactionSync"),
        sender.filled(),
        sender.validated(),
        sender.validated(),
        sender.raw(DETAILED),
        sender.filled(),
    )
    with closing(sender.client):
        responses = send(node.url, sent, pid)
        assert sender.nonces_of(responses) == list(range(first, sender.nonce))


@pytest.fixture(scope="module")
def cluster(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClusterProcesses]:
    folder: Path = tmp_path_factory.mktemp("cluster")
    with running_cluster(postgres, folder) as started:
        for _ in range(2):
            started.add("--workers", "2")
        yield started
