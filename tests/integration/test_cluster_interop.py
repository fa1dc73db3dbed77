"""A cluster and a node of another chain on one Bridgehub: roots, books and proofs, also after a takeover."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from eth_account import Account

from entresol._native import keccak256
from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from tests.support.clients.accounts import SigningClient
from tests.support.cluster.nodes import (
    OPERATOR,
    ClusterNodeProcess,
    ClusterProcesses,
    running_cluster,
)
from tests.support.cluster.postgres import Postgres
from tests.support.ecosystem.bundles import (
    MESSAGE_ROOT,
    execute,
    has_root,
    imported_blocks,
    imports_of,
    proof_of,
    send_value,
)
from tests.support.hex_data import hexed
from tests.support.inprocess_node import inprocess_node
from tests.support.node_process import DEVELOPMENT_FLAGS
from tests.support.polling import eventually
from tests.support.rollup.pair import ETHER, RECEIVER, USER, Pair
from tests.support.rpc_client import HttpRpcClient

pytestmark = pytest.mark.slow

_, SECOND, _, ACCOUNT = derive(DEVELOPMENT_MNEMONIC, 4)
SIGNER = Account.from_key(bytes(ACCOUNT.secret))
FAST = ("--settle-interval", "0.05", "--l1-confirmations", "0")
APPENDED = hexed(keccak256(b"AppendedChainBatchRoot(uint256,uint256,bytes32)"))


class Neighbours(NamedTuple):
    """A cluster, and a node whose chain was registered after it."""

    cluster: ClusterProcesses
    other: Pair

    def member(self, node: ClusterNodeProcess) -> Pair:
        """Return the chain of the cluster as a node serves it, with a connection of its own."""
        l1, l2 = HttpRpcClient(self.cluster.l1_url), SigningClient(node.url, SIGNER)
        return Pair(l1, l2, self.cluster.contracts())

    def appended_blocks(self, chain_id: int) -> list[int]:
        """Return the L1 blocks in which batches of a chain were appended."""
        address = str(self.cluster.contracts()["message_root"])
        topics = [APPENDED, hexed(chain_id.to_bytes(32))]
        asked = {"fromBlock": "0x0", "address": address, "topics": topics}
        return sorted({int(log["blockNumber"], 16) for log in self.other.l1("eth_getLogs", asked)})


@pytest.fixture
def neighbours(postgres: Postgres, tmp_path: Path) -> Iterator[Neighbours]:
    with running_cluster(postgres, tmp_path) as cluster, contextlib.ExitStack() as stack:
        for _ in range(2):
            cluster.add("--settle-interval", "0.05")
        owner, info = tmp_path / "owner.key", tmp_path / "second.json"
        owner.write_text(str(OPERATOR.secret))
        owner.chmod(0o600)
        flags = (
            *("--bridgehub", str(cluster.contracts()["bridgehub"]), "--l1-url", cluster.l1_url),
            *("--bridgehub-owner-key-file", str(owner), "--chain-id", "271", *FAST),
            *("--operator-key", str(SECOND.secret), *DEVELOPMENT_FLAGS, "--config-out", str(info)),
        )
        node = stack.enter_context(inprocess_node(*flags, info=info))
        l1, l2 = HttpRpcClient(cluster.l1_url), HttpRpcClient(node.url)
        contracts = Pair.connect(info)
        other = Pair(l1, l2, cluster.contracts() | {"chain": contracts.chain.address}, 271)
        contracts.close()
        stack.callback(other.close)
        yield Neighbours(cluster, other)


def received(pair: Pair) -> int:
    return int(pair.l2("eth_getBalance", str(RECEIVER), "latest"), 16)


def test_a_cluster_imports_and_books_before_and_after_a_takeover(neighbours: Neighbours) -> None:
    cluster, other = neighbours.cluster, neighbours.other
    first = cluster.producer()
    (second,) = [node for node in cluster.nodes if node is not first]
    with contextlib.ExitStack() as stack:
        producer, member = (
            stack.enter_context(contextlib.closing(neighbours.member(entry)))
            for entry in (first, second)
        )
        for pair in (producer, other):
            assert pair.arrived(pair.deposit(ETHER, to=USER))["status"] == "0x1"
        # Each chain pays the other; a member that does not produce takes part in both.
        there, back = send_value(member, other, 3), send_value(other, member, 4)
        assert other.l2.receipt(execute(other, member, there))["status"] == "0x1"
        assert member.l2.receipt(execute(member, other, back))["status"] == "0x1"
        assert (received(other), received(member)) == (3, 4)
        proof = proof_of(member, there)
        assert producer.l2("zks_getL2ToL1LogProof", there, 0, MESSAGE_ROOT) == proof
        assert imports_of(member) == imports_of(producer) != []
        # While nobody produces, the other chain goes on.
        first.kill()
        waiting = [send_value(other, member, number) for number in (5, 6)]
        proofs = [proof_of(other, transaction) for transaction in waiting]
        assert cluster.producer() is second
        eventually(lambda: all(has_root(member, proof) for proof in proofs), second.printed)
        for transaction in waiting:
            assert member.l2.receipt(execute(member, other, transaction))["status"] == "0x1"
        assert received(member) == 4 + 5 + 6
        assert member.l2("zks_getL2ToL1LogProof", there, 0, MESSAGE_ROOT) == proof
        later = send_value(member, other, 7)
        assert other.l2.receipt(execute(other, member, later))["status"] == "0x1"
        # Each root of the other chain was imported, in order, once.
        appended = neighbours.appended_blocks(271)
        eventually(lambda: imported_blocks(member) == appended)
        assert second.health()["status"] == "ready", second.health()
    first.start()
    with contextlib.closing(neighbours.member(first)) as again:
        eventually(lambda: imported_blocks(again) == appended, first.printed)
        assert again.l2("zks_getL2ToL1LogProof", later, 0, MESSAGE_ROOT) == proof_of(again, later)
