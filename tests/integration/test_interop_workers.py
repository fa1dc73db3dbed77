"""Two chains with workers: every process shows imports, proves bundles and executes them, whatever happens to one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.chain.every_read import FEW_TRACERS, reads_of_block, reads_of_transaction
from tests.support.ecosystem.bundles import (
    MESSAGE_ROOT,
    execute,
    has_root,
    imported_blocks,
    imports_of,
    proof_of,
    send_value,
)
from tests.support.node_process import RunningNode, running_node
from tests.support.polling import eventually
from tests.support.rollup.pair import ETHER, USER, Pair
from tests.support.rpc_client import RpcError, health_of
from tests.support.workers import ProcessClient, clients_of, workers_of


class Chains(NamedTuple):
    """A node with workers, and its two chains."""

    node: RunningNode
    pairs: list[Pair]

    def clients(self, index: int) -> contextlib.AbstractContextManager[list[ProcessClient]]:
        """Open a connection to each process for a chain."""
        return clients_of(self.node, self.pairs[index].l2.url)


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chains") / "info.json"


@pytest.fixture(scope="module")
def node(info: Path) -> Iterator[RunningNode]:
    flags = ("--chains", "2", "--workers", "2", "--settle-interval", "0.05", "--l1-delay", "0")
    with running_node(*flags, "--config-out", str(info), info=info) as running:
        eventually(info.exists)
        yield running


@pytest.fixture
def chains(node: RunningNode, info: Path) -> Iterator[Chains]:
    """Connect anew: whoever served an earlier test may be killed."""
    with contextlib.ExitStack() as stack:
        pairs = [stack.enter_context(contextlib.closing(pair)) for pair in Pair.connect_all(info)]
        yield Chains(node, pairs)


def sent_and_imported(chains: Chains) -> tuple[str, dict[str, Any]]:
    """Send a bundle from the first chain, wait until the second one has its root, and return that import."""
    source, destination = chains.pairs
    sent = send_value(source, destination, 5)
    proof = proof_of(source, sent)
    eventually(lambda: has_root(destination, proof))
    return sent, imports_of(destination)[-1]


def responses(clients: list[ProcessClient], method: str, *params: object) -> set[str]:
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return {json.dumps(client.post(asked), sort_keys=True) for client in clients}


def test_every_process_shows_an_import_in_the_same_way(chains: Chains) -> None:
    _, imported = sent_and_imported(chains)
    number, found = imported["blockNumber"], imported["hash"]
    block = chains.pairs[1].l2("eth_getBlockByNumber", number, True)
    (transaction,) = [sent for sent in block["transactions"] if sent["hash"] == found]
    asked = [*reads_of_block(block, FEW_TRACERS), *reads_of_transaction(transaction, FEW_TRACERS)]
    with chains.clients(1) as clients:
        for method, params in asked:
            (one,) = eventually(lambda m=method, p=params: alike(clients, m, p))  # type: ignore[misc]
            assert '"result"' in one, (method, one)


def alike(clients: list[ProcessClient], method: str, params: Sequence[object]) -> set[str] | None:
    """Return what all processes respond, once it is the same: batches are sealed meanwhile."""
    found = responses(clients, method, *params)
    return found if len(found) == 1 else None


def test_a_worker_that_replaces_another_has_proofs_and_imports(
    chains: Chains, node: RunningNode, info: Path
) -> None:
    sent, imported = sent_and_imported(chains)
    proof = proof_of(chains.pairs[0], sent)
    (victim,) = workers_of(node)
    os.kill(victim, signal.SIGKILL)
    eventually(lambda: is_replaced(node, victim))
    chains = Chains(node, Pair.connect_all(info))
    source, destination = chains.pairs
    with chains.clients(0) as clients, chains.clients(1) as others:
        assert clients[1]("zks_getL2ToL1LogProof", sent, 0, MESSAGE_ROOT) == proof
        found = others[1]("eth_getTransactionByHash", imported["hash"])
        assert found["blockHash"] == imported["blockHash"]
    second, later = sent_and_imported(chains)
    with chains.clients(1) as others:
        found = others[1]("eth_getTransactionByHash", later["hash"])
        assert found["blockHash"] == later["blockHash"]
    for transaction in (sent, second):
        assert destination.l2.receipt(execute(destination, source, transaction))["status"] == "0x1"
    blocks = imported_blocks(destination)
    assert blocks == sorted(set(blocks))
    for pair in chains.pairs:
        pair.close()


def is_replaced(node: RunningNode, victim: int) -> bool:
    with contextlib.suppress(OSError):
        workers: dict[str, int] = health_of(node.url)[1]["workers"]
        return victim not in workers_of(node) and workers["running"] == workers["expected"] == 1
    # The connection was to the one that is gone.
    return False


def test_every_process_says_that_books_are_not_covered(chains: Chains) -> None:
    source, destination = chains.pairs
    source.l2("anvil_setBalance", str(USER), hex(10**12 * ETHER))
    sent = send_value(source, destination, 10**11 * ETHER)
    asked = ("zks_getL2ToL1LogProof", sent, 0, MESSAGE_ROOT)
    with chains.clients(0) as clients:
        for client in clients:
            assert "InteropValueNotCovered" in eventually(lambda it=client: error_of(it, *asked))  # type: ignore[misc]


def error_of(client: ProcessClient, *asked: Any) -> str | None:
    """Return the message of the error of a request, or None while it has none."""
    try:
        assert client(*asked) is None
    except RpcError as error:
        return error.message
    return None
