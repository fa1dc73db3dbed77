"""The requests that are followed: each is repeated on a node that has nothing else to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.support.clients.accounts import signed_transfer
from tests.support.cluster.nodes import running_cluster
from tests.support.cluster.postgres import running_postgres
from tests.support.node_process import running_node
from tests.support.polling import eventually
from tests.support.rollup.pair import Pair
from tests.support.rpc_client import HttpRpcClient
from tests.support.workers import ProcessClient, processes_of, workers_of
from tools.walks.processes import record
from tools.walks.walk import Calls, Walk

ROUNDS: Final = 12
"""The first one imports and fills caches, and does not count."""


def raw_transaction(folder: Path) -> Walk:
    """Send a raw transaction, whose block is sealed before the response."""
    with running_node("--no-settle") as node:
        client = HttpRpcClient(node.url)
        rounds = [
            record(
                folder,
                [node.process.pid],
                lambda nonce=nonce: client("eth_sendRawTransaction", signed_transfer(nonce)),  # type: ignore[misc]
            )
            for nonce in range(ROUNDS)
        ]
    return Walk.of_rounds(rounds[1:])


def block_by_number(folder: Path) -> Walk:
    """Read a block that nobody has read before."""
    rounds: list[Calls] = []
    with running_node("--no-settle") as node:
        client = HttpRpcClient(node.url)
        for nonce in range(ROUNDS):
            client("eth_sendRawTransaction", signed_transfer(nonce))
            number = client("eth_blockNumber")
            request = ("eth_getBlockByNumber", number, True)
            rounds.append(record(folder, [node.process.pid], lambda it=request: client(*it)))  # type: ignore[misc]
    return Walk.of_rounds(rounds[1:])


def deposit(folder: Path) -> Walk:
    """Deposit on L1, until the block of L2 is in the log of the node."""
    rounds: list[Calls] = []
    with TemporaryDirectory() as data:
        info = Path(data) / "info.json"
        flags = ("--no-settle", "--l1-delay", "0", "--config-out", str(info))
        with running_node(*flags, info=info) as node:
            pair = Pair.connect(info)
            # Otherwise the client would request an estimate.
            pair.gas_on_l1 = 1_000_000

            def deposit_one() -> None:
                expected = int(pair.l2("eth_blockNumber"), 16) + 1
                pair.deposit()
                eventually(lambda: int(pair.l2("eth_blockNumber"), 16) >= expected)

            rounds.extend(record(folder, [node.process.pid], deposit_one) for _ in range(ROUNDS))
            pair.close()
    return Walk.of_rounds(rounds[1:])


def forwarded_transaction(folder: Path) -> Walk:
    """Send a raw transaction to a worker of a replica, which passes it on to the producer of the cluster."""
    rounds: list[Calls] = []
    with (
        TemporaryDirectory() as data,
        running_postgres() as postgres,
        running_cluster(postgres, Path(data)) as cluster,
    ):
        for _ in range(2):
            cluster.add("--workers", "2")
        producer = cluster.producer()
        (replica,) = [it for it in cluster.nodes if it is not producer]
        (worker,) = workers_of(replica.running)
        processes = [*processes_of(producer.running), *processes_of(replica.running)]
        client = ProcessClient(replica.url, worker)
        for nonce in range(ROUNDS):
            request = ("eth_sendRawTransaction", signed_transfer(nonce))
            rounds.append(record(folder, processes, lambda it=request: client(*it)))  # type: ignore[misc]
        client.close()
    return Walk.of_rounds(rounds[1:])


SCENARIOS: Final[Mapping[str, Callable[[Path], Walk]]] = {
    "raw transaction to sealed block": raw_transaction,
    "block by number, not cached": block_by_number,
    "deposit": deposit,
    "transaction through a replica's worker": forwarded_transaction,
}
