"""Reorganisations of an L1 in another process around a root that a chain is about to import, or has imported."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from entresol._native import keccak256
from tests.support.anvil import Anvil
from tests.support.cluster.nodes import OPERATOR
from tests.support.ecosystem.bundles import execute, imported_blocks, send_value
from tests.support.hex_data import hexed
from tests.support.inprocess_node import inprocess_anvil, inprocess_node
from tests.support.node_process import DEVELOPMENT_FLAGS
from tests.support.polling import eventually
from tests.support.rollup.pair import ETHER, USER, Json, Pair
from tests.support.rpc_client import health_of

CONFIRMATIONS = 2
APPENDED = hexed(keccak256(b"AppendedChainBatchRoot(uint256,uint256,bytes32)"))


class Remote(NamedTuple):
    """Two chains, and their L1 in another process."""

    l1: Anvil
    source: Pair
    destination: Pair

    def appended(self, last: int) -> list[Json]:
        """Return the events of batches that L1 has appended after a block."""
        found = self.l1("eth_getLogs", {"fromBlock": hex(last), "topics": [APPENDED]})
        return [entry for entry in found if int(entry["blockNumber"], 16) > last]

    def proof(self, sent: str) -> Json:
        """Mine until L1 has confirmed the batch of a bundle, and return the proof."""

        def proven() -> Json | None:
            self.l1("evm_mine")
            found: Json | None = self.source.l2("zks_getL2ToL1LogProof", sent, 0, "messageRoot")
            return found

        return eventually(proven, lambda: str(health_of(self.source.l2.url)[1]))

    def problem(self) -> str | None:
        """Return why the destination imports nothing."""
        found: str | None = health_of(self.destination.l2.url)[1]["interop"]
        return found


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    info = tmp_path_factory.mktemp("remote") / "info.json"
    with inprocess_anvil("anvil") as l1, contextlib.ExitStack() as stack:
        flags = (
            *("--chains", "2", "--l1-url", l1.url, "--operator-key", str(OPERATOR.secret)),
            *("--deploy-l1", "--l1-confirmations", str(CONFIRMATIONS), "--settle-interval", "0.05"),
            *(*DEVELOPMENT_FLAGS, "--config-out", str(info)),
        )
        stack.enter_context(inprocess_node(*flags, info=info))
        eventually(info.exists)
        pairs = [stack.enter_context(contextlib.closing(pair)) for pair in Pair.connect_all(info)]
        for pair in pairs:
            sent = pair.deposit(ETHER, to=USER)
            l1("anvil_mine", hex(CONFIRMATIONS))
            assert pair.arrived(sent)["status"] == "0x1"
        yield Remote(l1, *pairs)


def test_a_reorg_below_the_confirmations_delays_a_bundle_and_no_more(remote: Remote) -> None:
    last = int(remote.l1("eth_blockNumber"), 16)
    snapshot = remote.l1("evm_snapshot")
    sent = send_value(remote.source, remote.destination, 3)
    (before,) = eventually(lambda: remote.appended(last))
    imported = imported_blocks(remote.destination)
    assert remote.l1("evm_revert", snapshot) is True
    remote.l1("evm_mine")
    proof = remote.proof(sent)
    assert proof["gatewayBlockNumber"] > int(before["blockNumber"], 16)
    assert (
        remote.destination.l2.receipt(execute(remote.destination, remote.source, sent))["status"]
        == "0x1"
    )
    assert len(imported_blocks(remote.destination)) == len(imported) + 1
    assert remote.problem() is None
