"""/health over HTTP when a chain cannot import, or when L1 replaces a root that was imported."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.support.anvil import Anvil
from tests.support.cluster.nodes import OPERATOR
from tests.support.ecosystem.bundles import (
    ROOTS,
    execute,
    has_root,
    imported_blocks,
    proof_of,
    send_value,
)
from tests.support.inprocess_node import InprocessNode, inprocess_anvil, inprocess_node
from tests.support.node_process import DEVELOPMENT_FLAGS
from tests.support.polling import eventually
from tests.support.rollup.pair import ETHER, USER, Pair
from tests.support.rpc_client import health_of


class Remote(NamedTuple):
    """A node of two chains on an L1 in another process."""

    l1: Anvil
    node: InprocessNode
    pairs: list[Pair]

    def health(self, index: int) -> tuple[int, dict[str, Any]]:
        """Return what the port of a chain says."""
        return health_of(self.pairs[index].l2.url)


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    info = tmp_path_factory.mktemp("remote") / "info.json"
    with inprocess_anvil("anvil") as l1, contextlib.ExitStack() as stack:
        flags = (
            *("--chains", "2", "--l1-url", l1.url, "--operator-key", str(OPERATOR.secret)),
            *("--deploy-l1", "--l1-confirmations", "0", "--settle-interval", "0.05"),
            *(*DEVELOPMENT_FLAGS, "--config-out", str(info)),
        )
        node = stack.enter_context(inprocess_node(*flags, info=info))
        eventually(info.exists)
        pairs = [stack.enter_context(contextlib.closing(pair)) for pair in Pair.connect_all(info)]
        for pair in pairs:
            assert pair.arrived(pair.deposit(ETHER, to=USER))["status"] == "0x1"
        yield Remote(l1, node, pairs)


def test_an_import_that_fails_is_named_until_it_succeeds(remote: Remote) -> None:
    source, destination = remote.pairs
    address = str(ROOTS.address)
    code = destination.l2("eth_getCode", address, "latest")
    destination.l2("anvil_setCode", address, "0x60006000fd")
    sent = send_value(source, destination, 1)
    proof_of(source, sent)
    status, document = eventually(lambda: unhealthy(remote, 1))
    problem = "the system transaction that imports roots of L1 fails: execution reverted"
    assert (status, document["status"], document["reason"]) == (503, "failing", problem)
    # The other chain goes on, and names this one.
    status, document = remote.health(0)
    assert (status, document["reason"]) == (200, f"chain 271: {problem}")
    assert document["chains"] == {"270": None, "271": problem}
    destination.l2("anvil_setCode", address, code)
    assert destination.l2.receipt(execute(destination, source, sent))["status"] == "0x1"
    eventually(lambda: unhealthy(remote, 1) is None)


def unhealthy(remote: Remote, index: int) -> tuple[int, dict[str, Any]] | None:
    found = remote.health(index)
    return None if found[1]["status"] == "ready" else found


def test_a_root_that_l1_has_replaced_is_named_until_the_chain_is_without_it(remote: Remote) -> None:
    source, destination = remote.pairs
    snapshot = remote.l1("evm_snapshot")
    sent = send_value(source, destination, 2)
    proof = proof_of(source, sent)
    eventually(lambda: has_root(destination, proof))
    height = int(destination.l2("eth_blockNumber"), 16)
    # The blocks in which batches were appended have none now: those of both chains are appended in later ones.
    remote.l1("evm_setAutomine", False)
    assert remote.l1("evm_revert", snapshot) is True
    remote.l1("anvil_mine", hex(proof["gatewayBlockNumber"]))
    remote.l1("evm_setAutomine", True)
    problem = eventually(lambda: remote.health(1)[1]["interop"])
    assert re.search(r"imported the root 0x\w{64} of L1 block \d+, which has 0x\w{64} now", problem)
    # Deposits cannot be read for a moment, either.
    eventually(lambda: remote.health(0)[1]["chains"]["271"] == f"interop: {problem}")
    # Without the blocks since that import the chain agrees with L1 again.
    destination.l2("anvil_rollback", int(destination.l2("eth_blockNumber"), 16) - height + 1)
    assert destination.l2.receipt(execute(destination, source, sent))["status"] == "0x1"
    eventually(lambda: unhealthy(remote, 1) is None)
    blocks = imported_blocks(destination)
    assert blocks == sorted(set(blocks))
